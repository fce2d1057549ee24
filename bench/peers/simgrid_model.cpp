// A job simulated with SimGrid's S4U: `simgrid_model JOB [--ends]` prints JSON.
// The job's text is described in bench/peers/job.py.

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Operation {
  int place;
  uint64_t size_bytes;
  int waits;
  std::vector<int> followers;
};

struct Channel {
  int server;
  int direction;
};

struct Processor {
  bool at_worker;
  int server;
  int capacity;
};

struct Job {
  std::vector<double> rate_bps;
  std::vector<std::vector<int>> draws;
  std::vector<std::vector<double>> factors;
  bool two_visit;
  uint64_t window_bytes;
  std::vector<Channel> channels;
  std::vector<Processor> processors;
  std::vector<Operation> operations;
  std::vector<std::vector<int>> sources;
  std::vector<std::vector<double>> duration_ns;
};

class Reader {
public:
  explicit Reader(const std::string& path) : file_(path)
  {
    if (not file_)
      throw std::runtime_error(path + ": can't be read");
  }

  template <class T> T next()
  {
    T value;
    if (not(file_ >> value))
      throw std::runtime_error("job: ends too soon, or is no number where one is due");
    return value;
  }

  template <class T> std::vector<T> row(size_t length)
  {
    std::vector<T> found(length);
    for (auto& value : found)
      value = next<T>();
    return found;
  }

  void skip(const std::string& name)
  {
    if (auto found = next<std::string>(); found != name)
      throw std::runtime_error("job: " + found + ": must be " + name);
  }

  int head(const std::string& name)
  {
    skip(name);
    return next<int>();
  }

private:
  std::ifstream file_;
};

void read_settings(Reader& in, Job& job)
{
  if (in.head("job") != 1)
    throw std::runtime_error("job: must be of version 1");
  job.rate_bps = in.row<double>(in.head("servers"));
  int workers = in.head("workers");
  int steps = in.head("steps");
  for (int w = 0; w < workers; w++)
    job.draws.push_back(in.row<int>(steps));
  int factors = in.head("factors");
  for (int w = 0; w < workers; w++)
    job.factors.push_back(in.row<double>(factors));
  in.skip("sending");
  job.two_visit = in.next<std::string>() == "two_visit";
  auto window = in.next<int64_t>();
  job.window_bytes = window < 0 ? UINT64_MAX : window;
}

Job read_job(const std::string& path)
{
  Reader in(path);
  Job job;
  read_settings(in, job);
  for (int left = in.head("channels"); left > 0; left--) {
    auto row = in.row<int>(2);
    job.channels.push_back({row[0], row[1]});
  }
  for (int left = in.head("processors"); left > 0; left--) {
    auto row = in.row<int>(3);
    job.processors.push_back({row[0] == 1, row[1], row[2]});
  }
  int operations = in.head("operations");
  for (int i = 0; i < operations; i++) {
    Operation operation{in.next<int>(), in.next<uint64_t>(), in.next<int>(), {}};
    operation.followers = in.row<int>(in.next<int>());
    job.operations.push_back(operation);
  }
  int recorded = in.head("recorded");
  int sources = in.next<int>();
  for (int r = 0; r < recorded; r++) {
    job.sources.push_back(in.row<int>(sources));
    job.duration_ns.push_back(in.row<double>(operations));
  }
  return job;
}

// What an actor works off. Actors only take turns, so the queue itself needs no lock; the
// semaphore, whose use costs a call into the kernel, is for those who have nothing to do.
struct Task {
  int operation;
  uint64_t left_bytes;
  bool visited;
};

class Queue {
public:
  bool empty() const { return tasks_.empty(); }
  void push(const Task& task) { tasks_.push_back(task); }

  Task pop()
  {
    while (tasks_.empty()) {
      idle_++;
      ready_->acquire();
    }
    Task task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

  void wake()
  {
    for (size_t left = tasks_.size(); idle_ > 0 && left > 0; left--) {
      idle_--;
      ready_->release();
    }
  }

private:
  std::deque<Task> tasks_;
  int idle_ = 0;
  sg4::SemaphorePtr ready_ = sg4::Semaphore::create(0);
};

class Worker {
public:
  std::vector<double> ends_ns;

  Worker(const Job& job, int number) : job_(job), draws_(job.draws[number]), factors_(job.factors[number])
  {
    queues_.resize(job.channels.size() + job.processors.size());
  }

  void start(sg4::Host* host, const std::vector<sg4::Host*>& servers)
  {
    sg4::Actor::create("worker", host, [this] { run(); });
    for (size_t c = 0; c < job_.channels.size(); c++) {
      auto* server = servers[job_.channels[c].server];
      auto* from = job_.channels[c].direction == 0 ? server : host;
      auto* to = job_.channels[c].direction == 0 ? host : server;
      sg4::Actor::create("connection", from, [=] { send(queues_[c], from, to); })->daemonize();
    }
    for (size_t p = 0; p < job_.processors.size(); p++) {
      const auto& processor = job_.processors[p];
      auto* at = processor.at_worker ? host : servers[processor.server];
      auto& queue = queues_[job_.channels.size() + p];
      for (int place = 0; place < processor.capacity; place++)
        sg4::Actor::create("processor", at, [this, &queue, &processor] { compute(queue, processor); })->daemonize();
    }
  }

private:
  const Job& job_;
  const std::vector<int>& draws_;
  const std::vector<double>& factors_;
  std::vector<Queue> queues_;
  const std::vector<double>* duration_ns_ = nullptr;
  double factor_ = 1;
  std::vector<int> waits_;
  size_t left_ = 0;
  sg4::SemaphorePtr ended_ = sg4::Semaphore::create(0);

  void run()
  {
    for (size_t step = 0; step < draws_.size(); step++) {
      duration_ns_ = &job_.duration_ns[draws_[step]];
      factor_ = factors_[factors_.size() > 1 ? step : 0];
      waits_.clear();
      for (const auto& operation : job_.operations)
        waits_.push_back(operation.waits);
      left_ = job_.operations.size();
      const auto& sources = job_.sources[draws_[step]];
      for (int operation : sources)
        hand_over(operation);
      for (int operation : sources)
        wake(operation);
      ended_->acquire();
      ends_ns.push_back(sg4::Engine::get_clock() * 1e9);
    }
  }

  // Handed over first, woken afterwards: who is woken may run at once.
  void hand_over(int operation)
  {
    const auto& about = job_.operations[operation];
    queues_[about.place].push({operation, about.size_bytes, false});
  }

  void wake(int operation) { queues_[job_.operations[operation].place].wake(); }

  void finish(int operation)
  {
    std::vector<int> ready;
    for (int follower : job_.operations[operation].followers)
      if (--waits_[follower] == 0)
        ready.push_back(follower);
    for (int follower : ready)
      hand_over(follower);
    bool last = --left_ == 0;
    for (int follower : ready)
      wake(follower);
    if (last)
      ended_->release();
  }

  // A stream's first visit takes at most a window, its second one all the rest.
  void send(Queue& queue, sg4::Host* from, sg4::Host* to)
  {
    while (true) {
      Task task = queue.pop();
      uint64_t size_bytes = task.left_bytes;
      if (job_.two_visit && not task.visited && size_bytes > job_.window_bytes) {
        size_bytes = job_.window_bytes;
        queue.push({task.operation, task.left_bytes - size_bytes, true});
      }
      sg4::Comm::sendto(from, to, size_bytes);
      if (size_bytes == task.left_bytes)
        finish(task.operation);
    }
  }

  void compute(Queue& queue, const Processor& processor)
  {
    while (true) {
      Task task = queue.pop();
      double factor = processor.at_worker ? factor_ : 1;
      sg4::this_actor::sleep_for((*duration_ns_)[task.operation] * factor * 1e-9);
      finish(task.operation);
    }
  }
};

// n flows on a link get 1/n each, and nothing takes time on the way. Events closer than
// surf/precision (1e-9 s if not set) are taken as one, which a busy link of many workers shows.
void configure()
{
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/bandwidth-factor:1", "network/latency-factor:0",
        "network/weight-S:0", "network/crosstraffic:0", "surf/precision:1e-12", "contexts/stack-size:64"})
    sg4::Engine::set_config(setting);
}

std::vector<sg4::Host*> make_platform(const Job& job, std::vector<sg4::Host*>& servers)
{
  auto* zone = sg4::create_full_zone("all");
  std::vector<sg4::Host*> workers;
  for (size_t w = 0; w < job.draws.size(); w++)
    workers.push_back(zone->create_host("w" + std::to_string(w), 1e9)->seal());
  for (size_t k = 0; k < job.rate_bps.size(); k++) {
    auto name = std::to_string(k);
    auto* server = zone->create_host("s" + name, 1e9)->seal();
    servers.push_back(server);
    auto* down = zone->create_link("down" + name, job.rate_bps[k] / 8);
    auto* up = zone->create_link("up" + name, job.rate_bps[k] / 8);
    for (auto* link : {down, up})
      link->set_sharing_policy(sg4::Link::SharingPolicy::SHARED)->set_latency(0)->seal();
    for (auto* worker : workers) {
      zone->add_route(server->get_netpoint(), worker->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(down)}, false);
      zone->add_route(worker->get_netpoint(), server->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(up)}, false);
    }
  }
  zone->seal();
  return workers;
}

void report(double wall_s, const std::vector<std::unique_ptr<Worker>>& workers, bool ends)
{
  size_t steps = 0;
  for (const auto& worker : workers)
    steps += worker->ends_ns.size();
  int major;
  int minor;
  int patch;
  sg_version_get(&major, &minor, &patch);
  std::printf("{\"release\": \"%d.%d\", \"wall_s\": %.9f, \"steps\": %zu", major, minor, wall_s, steps);
  if (ends) {
    const char* before = ", \"ends_ns\": [";
    for (const auto& worker : workers) {
      std::printf("%s[", before);
      for (size_t i = 0; i < worker->ends_ns.size(); i++)
        std::printf("%s%.17g", i ? ", " : "", worker->ends_ns[i]);
      std::printf("]");
      before = ", ";
    }
    std::printf("]");
  }
  std::printf("}\n");
}

} // namespace

int main(int argc, char* argv[])
{
  sg4::Engine engine(&argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: simgrid_model JOB [--ends]\n");
    return 2;
  }
  Job job;
  try {
    job = read_job(argv[1]);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
  configure();
  std::vector<sg4::Host*> servers;
  auto hosts = make_platform(job, servers);
  std::vector<std::unique_ptr<Worker>> workers;
  for (size_t w = 0; w < hosts.size(); w++) {
    workers.push_back(std::make_unique<Worker>(job, w));
    workers.back()->start(hosts[w], servers);
  }
  auto begin = std::chrono::steady_clock::now();
  engine.run();
  std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  report(wall.count(), workers, argc > 2 && std::strcmp(argv[2], "--ends") == 0);
  return 0;
}
