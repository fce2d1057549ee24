// The fast path of sim/fast by hand: `fast_twin DUMP [--ends]` prints JSON.
// The dump is described in bench/peers/fast_twin.py. Sums and products are taken in the same order
// as there, and built with -ffp-contract=off, so that every time is the same to the last bit.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

constexpr double NEVER = std::numeric_limits<double>::infinity();
constexpr int64_t NONE = -1;

// Values of Shape::replay.
constexpr int64_t UNWATCHED = 0;
constexpr int64_t BY_VISITS = 2;

// What a worker does, as bits of an index into its times.
constexpr int RECEIVING = 1;
constexpr int COMPUTING = 2;
constexpr int SENDING = 4;
constexpr int WAITING = 8;

// One worker's step; see sim/fast/arrays.py. Tables of recorded steps are flat, row by row.
struct Shape {
  Ints down_start, down, down_cum, need_start, need;
  Floats forward_ns, forward_sum, backward_sum;
  Ints up_start, up_size, up_cum;
  Floats offset_ns;
  Ints update;
  Floats update_ns;
  Ints replay;
  int64_t largest, servers, forwards, processors, downs, ups;
  bool own_order; // each recorded step has its own order of pulls
};

struct Job {
  int64_t workers, steps, factors, lead;
  Floats ns_per_byte; // downlinks first
  Ints draw;
  Floats factor;
  Shape shape;
};

class Reader {
public:
  explicit Reader(const std::string& path) : file_(path, std::ios::binary)
  {
    if (not file_)
      throw std::runtime_error(path + ": can't be read");
  }

  template <class T> std::vector<T> row()
  {
    int64_t length = 0;
    read(&length, 1);
    if (length < 0 or length > INT32_MAX)
      throw std::runtime_error("dump: an array's length is wrong");
    std::vector<T> found(length);
    read(found.data(), length);
    return found;
  }

private:
  std::ifstream file_;

  void read(void* to, int64_t words)
  {
    if (not file_.read(static_cast<char*>(to), 8 * words))
      throw std::runtime_error("dump: ends too soon");
  }
};

Job read_job(const std::string& path)
{
  Reader in(path);
  auto head = in.row<int64_t>();
  if (head.size() != 9 or head[0] != 1)
    throw std::runtime_error("dump: must be of version 1");
  Job job;
  job.workers = head[1];
  job.steps = head[2];
  job.factors = head[3];
  job.lead = head[4];
  job.ns_per_byte = in.row<double>();
  job.draw = in.row<int64_t>();
  job.factor = in.row<double>();
  Shape& shape = job.shape;
  shape.servers = head[5];
  shape.forwards = head[6];
  shape.processors = head[7];
  shape.own_order = head[8] != 0;
  shape.down_start = in.row<int64_t>();
  shape.down = in.row<int64_t>();
  shape.down_cum = in.row<int64_t>();
  shape.need_start = in.row<int64_t>();
  shape.need = in.row<int64_t>();
  shape.forward_ns = in.row<double>();
  shape.forward_sum = in.row<double>();
  shape.backward_sum = in.row<double>();
  shape.up_start = in.row<int64_t>();
  shape.up_size = in.row<int64_t>();
  shape.up_cum = in.row<int64_t>();
  shape.offset_ns = in.row<double>();
  shape.update = in.row<int64_t>();
  shape.update_ns = in.row<double>();
  shape.replay = in.row<int64_t>();
  shape.largest = in.row<int64_t>().at(0);
  shape.downs = shape.down_start.back();
  shape.ups = shape.up_start.back();
  return job;
}

// Which of many keys is the smallest; of equal ones the first.
class Tournament {
public:
  explicit Tournament(int64_t leaves)
  {
    while (size_ < leaves)
      size_ *= 2;
    key_.assign(size_, NEVER);
    winner_.resize(2 * size_);
    for (int64_t i = 0; i < size_; i++)
      winner_[size_ + i] = i;
    for (int64_t i = size_ - 1; i > 0; i--)
      winner_[i] = winner_[2 * i];
  }

  int64_t first() const { return winner_[1]; }
  double soonest() const { return key_[winner_[1]]; }
  double key(int64_t leaf) const { return key_[leaf]; }

  void put(int64_t leaf, double value)
  {
    key_[leaf] = value;
    for (int64_t i = (leaf + size_) >> 1; i >= 1; i >>= 1) {
      int64_t left = winner_[2 * i];
      int64_t right = winner_[2 * i + 1];
      int64_t winner = key_[left] <= key_[right] ? left : right;
      if (winner_[i] == winner and winner != leaf)
        return;
      winner_[i] = winner;
    }
  }

private:
  int64_t size_ = 2;
  Floats key_;
  Ints winner_;
};

// A link's virtual clock, who is active, and a log of the clock, from which past ends are read.
class Link {
public:
  Link(double ns_per_byte, int64_t workers)
      : ns_per_byte_(ns_per_byte), ends_(workers), base_(workers), joined_(workers), log_(1024)
  {
  }

  int64_t first() const { return ends_.first(); }
  int64_t joined(int64_t worker) const { return joined_[worker]; }

  double target(int64_t worker, int64_t size_bytes) const
  {
    return base_[worker] + static_cast<double>(size_bytes) * ns_per_byte_;
  }

  // When the first busy period ends.
  double soonest(double now) const
  {
    double target = ends_.soonest();
    if (active_ == 0)
      return target;
    return std::max(now, since_ + (target - clock_) * static_cast<double>(active_));
  }

  bool idle() const { return active_ == 0; }

  // When so many bytes have left an idle link.
  double end_alone(double begin, int64_t size_bytes) const
  {
    return begin + (clock_ + static_cast<double>(size_bytes) * ns_per_byte_ - clock_);
  }

  // Somebody was alone on the link.
  void pass(double begin, double end)
  {
    clock_ += end - begin;
    since_ = end;
  }

  void join(int64_t worker, double now)
  {
    settle(now, 1);
    base_[worker] = clock_;
    joined_[worker] = logged_ - 1;
  }

  void aim(int64_t worker, int64_t size_bytes) { ends_.put(worker, target(worker, size_bytes)); }

  void leave(int64_t worker, double now)
  {
    settle(now, -1);
    ends_.put(worker, NEVER);
  }

  // Before each event: the log must be able to take what one event may add.
  void make_room()
  {
    auto entries = static_cast<int64_t>(log_.size());
    if (logged_ - oldest_ < entries - 2)
      return;
    oldest_ = logged_ - 1;
    for (size_t worker = 0; worker < joined_.size(); worker++)
      if (ends_.key(worker) < NEVER)
        oldest_ = std::min(oldest_, joined_[worker]);
    if (logged_ - oldest_ >= entries - entries / 4)
      grow(entries);
  }

  // The last entry, from a given one on, at which the clock had not passed the target.
  int64_t entry_at(int64_t entry, double target) const
  {
    int64_t last = logged_ - 1;
    int64_t stride = 1;
    while (entry + stride <= last and at(entry + stride).clock <= target) {
      entry += stride;
      stride *= 2;
    }
    for (; stride > 0; stride /= 2)
      if (entry + stride <= last and at(entry + stride).clock <= target)
        entry += stride;
    return entry;
  }

  double time_at(int64_t entry, double target) const
  {
    const Entry& found = at(entry);
    return found.time + (target - found.clock) * found.active;
  }

  double time_of(int64_t entry) const { return at(entry).time; }

private:
  struct Entry {
    double time, clock, active;
  };

  double ns_per_byte_;
  double clock_ = 0;
  double since_ = 0;
  int64_t active_ = 0;
  Tournament ends_;
  Floats base_;
  Ints joined_;
  std::vector<Entry> log_;
  int64_t logged_ = 0;
  int64_t oldest_ = 0;

  const Entry& at(int64_t entry) const { return log_[entry & (log_.size() - 1)]; }

  void settle(double now, int64_t change)
  {
    if (active_ > 0)
      clock_ += (now - since_) / static_cast<double>(active_);
    since_ = now;
    active_ += change;
    if (logged_ == 0 or at(logged_ - 1).time != now)
      logged_++;
    log_[(logged_ - 1) & (log_.size() - 1)] = {now, clock_, static_cast<double>(active_)};
  }

  void grow(int64_t entries)
  {
    std::vector<Entry> longer(2 * entries);
    for (int64_t i = std::max<int64_t>(0, logged_ - entries); i < logged_; i++)
      longer[i & (2 * entries - 1)] = at(i);
    log_ = std::move(longer);
  }
};

struct Worker {
  int64_t done = 0;
  int64_t recorded = 0;
  double factor = 1;
  bool busy = false;
  int64_t downs_left = 0;
  int64_t ups_left = 0;
  double started = 0;
  double ended = 0;
  double down_end = 0;
  double forward_end = 0;  // the last forward operation ends
  double backward_end = 0; // the last of all ends
  double last = 0;         // the latest end of an up or an update
  int64_t sending = 0;
  double sending_since = 0;
  double sent_computing = 0;
  double sent_only = 0;
  Ints next_up;   // by server
  Ints busy_from; // by server
  Floats free_at; // by processor
  Floats arrival; // by pull
  double spent[9] = {};
};

struct Ended {
  int64_t worker, step;
  double start, end;
};

// The sources of events, in the order in which they happen at one time: downlinks, hand-overs to
// idle connections, uplinks, ends of steps.
class FastRun {
public:
  std::vector<Ended> ended;

  explicit FastRun(const Job& job)
      : job_(job), shape_(job.shape), servers_(shape_.servers), first_up_(servers_ + job.workers * servers_),
        events_(2 * servers_ + job.workers * (servers_ + 1)), workers_(job.workers), at_slowest_(job.workers),
        queue_(2 * shape_.ups + 1)
  {
    for (double ns_per_byte : job.ns_per_byte)
      links_.emplace_back(ns_per_byte, job.workers);
    for (Worker& worker : workers_) {
      worker.next_up.resize(servers_);
      worker.busy_from.resize(servers_);
      worker.free_at.resize(shape_.processors);
      worker.arrival.resize(shape_.downs);
    }
  }

  void run()
  {
    for (size_t w = 0; w < workers_.size(); w++)
      if (may_begin(workers_[w]))
        begin_step(w);
    while (events_.soonest() < NEVER) {
      for (Link& link : links_)
        link.make_room();
      now_ = events_.soonest();
      happen(events_.first());
    }
  }

private:
  struct Visit {
    int64_t up;
    bool second;
  };

  const Job& job_;
  const Shape& shape_;
  int64_t servers_;
  int64_t first_up_;
  double now_ = 0;
  Tournament events_;
  std::vector<Link> links_;
  std::vector<Worker> workers_;
  int64_t slowest_ = 0;
  int64_t at_slowest_;
  std::vector<Visit> queue_;

  void happen(int64_t source)
  {
    if (source < servers_) {
      end_pulls(source, links_[source].first());
    } else if (source < first_up_) {
      if (not begin_busy((source - servers_) / servers_, (source - servers_) % servers_))
        end_ups((source - servers_) / servers_);
    } else if (source < first_up_ + servers_) {
      int64_t server = source - first_up_;
      int64_t w = links_[servers_ + server].first();
      if (not extend(w, server) and not end_busy(w, server))
        end_ups(w);
    } else {
      end_step(source - first_up_ - servers_);
    }
  }

  // Work out anew when the first of a link's busy periods ends.
  void refresh(int64_t link)
  {
    events_.put(link < servers_ ? link : link - servers_ + first_up_, links_[link].soonest(now_));
  }

  bool may_begin(const Worker& worker) const
  {
    return not worker.busy and worker.done < job_.steps and worker.done - slowest_ <= job_.lead;
  }

  // It pulls from every server.
  void begin_step(int64_t w)
  {
    Worker& worker = workers_[w];
    worker.recorded = job_.draw[w * job_.steps + worker.done];
    worker.factor = job_.factor[w * job_.factors + (job_.factors > 1 ? worker.done : 0)];
    worker.spent[WAITING] += now_ - worker.ended;
    worker.busy = true;
    worker.started = worker.last = now_;
    worker.sent_computing = worker.sent_only = 0;
    std::fill(worker.free_at.begin(), worker.free_at.end(), now_);
    int64_t row = shape_.own_order ? worker.recorded * shape_.downs : 0;
    worker.downs_left = 0;
    for (int64_t server = 0; server < servers_; server++) {
      worker.next_up[server] = shape_.up_start[server];
      int64_t last = shape_.down_start[server + 1] - 1;
      if (last >= shape_.down_start[server]) {
        worker.downs_left++;
        links_[server].join(w, now_);
        links_[server].aim(w, shape_.down_cum[row + last]);
        refresh(server);
      }
    }
  }

  // It has everything from a server; with the last one, its forward pass is worked out.
  void end_pulls(int64_t server, int64_t w)
  {
    Worker& worker = workers_[w];
    Link& link = links_[server];
    int64_t row = shape_.own_order ? worker.recorded * shape_.downs : 0;
    int64_t entry = link.joined(w);
    for (int64_t i = shape_.down_start[server]; i < shape_.down_start[server + 1]; i++) {
      double target = link.target(w, shape_.down_cum[row + i]);
      entry = link.entry_at(entry, target);
      worker.arrival[shape_.down[row + i]] = link.time_at(entry, target);
    }
    link.leave(w, now_);
    refresh(server);
    if (--worker.downs_left == 0) {
      worker.down_end = now_;
      forward(w);
    }
  }

  void forward(int64_t w)
  {
    Worker& worker = workers_[w];
    const double* forward_ns = &shape_.forward_ns[worker.recorded * shape_.forwards];
    double time = worker.started;
    for (int64_t i = 0; i < shape_.forwards; i++) {
      for (int64_t j = shape_.need_start[i]; j < shape_.need_start[i + 1]; j++)
        time = std::max(time, worker.arrival[shape_.need[j]]);
      time += forward_ns[i] * worker.factor;
    }
    worker.forward_end = time;
    worker.backward_end = time + shape_.backward_sum[worker.recorded] * worker.factor;
    for (int64_t server = 0; server < servers_; server++)
      if (await_next(w, server))
        worker.ups_left++;
    if (worker.ups_left == 0)
      expect_end(w);
  }

  double handed_over(const Worker& worker, int64_t up) const
  {
    return worker.forward_end + shape_.offset_ns[worker.recorded * shape_.ups + up] * worker.factor;
  }

  // The connection is idle until the next hand-over; false if there is none.
  bool await_next(int64_t w, int64_t server)
  {
    const Worker& worker = workers_[w];
    int64_t up = worker.next_up[server];
    double time = up < shape_.up_start[server + 1] ? handed_over(worker, up) : NEVER;
    events_.put(servers_ + w * servers_ + server, time);
    return time < NEVER;
  }

  // An up is handed over to an idle connection; false if all ups have ended at once.
  bool begin_busy(int64_t w, int64_t server)
  {
    Worker& worker = workers_[w];
    events_.put(servers_ + w * servers_ + server, NEVER);
    if (links_[servers_ + server].idle()) {
      send_alone(worker, server);
      if (worker.next_up[server] == shape_.up_start[server + 1])
        return false;
      if (handed_over(worker, worker.next_up[server]) > now_)
        return await_next(w, server);
    }
    worker.busy_from[server] = worker.next_up[server];
    links_[servers_ + server].join(w, now_);
    extend(w, server);
    if (worker.sending++ == 0)
      worker.sending_since = now_;
    return true;
  }

  // Send ups one by one as long as each ends before anything else happens: nobody else learns of
  // these busy periods, so neither the tournaments nor the log do.
  void send_alone(Worker& worker, int64_t server)
  {
    Link& link = links_[servers_ + server];
    double before = events_.soonest();
    int64_t end_up = shape_.up_start[server + 1];
    int64_t up = worker.next_up[server];
    double begin = now_;
    while (up < end_up and begin < before) {
      double following = up + 1 < end_up ? handed_over(worker, up + 1) : NEVER;
      double end = link.end_alone(begin, shape_.up_size[up]);
      if (end >= before or end >= following)
        break;
      now_ = end;
      link.pass(begin, end);
      if (shape_.replay[server] != UNWATCHED)
        update(worker, up, end);
      worker.last = std::max(worker.last, end);
      if (worker.sending == 0)
        book_sending(worker, begin, end);
      up++;
      begin = following;
    }
    worker.next_up[server] = up;
  }

  // Take in what has been handed over by now; whether there was anything.
  bool extend(int64_t w, int64_t server)
  {
    Worker& worker = workers_[w];
    int64_t first = worker.next_up[server];
    int64_t end = shape_.up_start[server + 1];
    int64_t up = first;
    while (up < end and handed_over(worker, up) <= now_)
      up++;
    if (up == first)
      return false;
    worker.next_up[server] = up;
    int64_t size_bytes = shape_.up_cum[up + server] - shape_.up_cum[worker.busy_from[server] + server];
    links_[servers_ + server].aim(w, size_bytes);
    refresh(servers_ + server);
    return true;
  }

  // Nothing is left to send; whether more will come in this step.
  bool end_busy(int64_t w, int64_t server)
  {
    Worker& worker = workers_[w];
    if (shape_.replay[server] == BY_VISITS)
      replay_visits(worker, w, server);
    else if (shape_.replay[server] != UNWATCHED)
      replay(worker, w, server);
    links_[servers_ + server].leave(w, now_);
    refresh(servers_ + server);
    worker.last = std::max(worker.last, now_);
    if (--worker.sending == 0)
      book_sending(worker, worker.sending_since, now_);
    return await_next(w, server);
  }

  // A time of sending, by whether the worker computed, too.
  void book_sending(Worker& worker, double since, double until)
  {
    double computing = std::max(0.0, std::min(until, worker.backward_end) - since);
    worker.sent_computing += computing;
    worker.sent_only += until - since - computing;
  }

  // It has sent all to a server; with the last one, the end of its step is known.
  void end_ups(int64_t w)
  {
    if (--workers_[w].ups_left == 0)
      expect_end(w);
  }

  // The end of every push of the busy period that ends now, and the updates behind them.
  void replay(Worker& worker, int64_t w, int64_t server)
  {
    const Link& link = links_[servers_ + server];
    int64_t entry = link.joined(w);
    int64_t sent = 0;
    for (int64_t up = worker.busy_from[server]; up < worker.next_up[server]; up++) {
      sent += shape_.up_size[up];
      double target = link.target(w, sent);
      entry = link.entry_at(entry, target);
      update(worker, up, link.time_at(entry, target));
    }
  }

  // The same where some push needs two visits: its rest waits behind what has come by then.
  void replay_visits(Worker& worker, int64_t w, int64_t server)
  {
    const Link& link = links_[servers_ + server];
    int64_t up = worker.busy_from[server];
    int64_t until = worker.next_up[server];
    int64_t entry = link.joined(w);
    double time = link.time_of(entry);
    int64_t sent = 0;
    size_t head = 0;
    size_t tail = 0;
    while (up < until or head < tail) {
      if (head == tail)
        queue_[tail++] = {up++, false};
      Visit visit = queue_[head++];
      int64_t size_bytes = shape_.up_size[visit.up];
      bool ends = true;
      if (visit.second) {
        size_bytes -= shape_.largest;
      } else if (size_bytes > shape_.largest) {
        while (up < until and handed_over(worker, up) <= time)
          queue_[tail++] = {up++, false};
        queue_[tail++] = {visit.up, true};
        size_bytes = shape_.largest;
        ends = false;
      }
      sent += size_bytes;
      double target = link.target(w, sent);
      entry = link.entry_at(entry, target);
      time = link.time_at(entry, target);
      if (ends)
        update(worker, visit.up, time);
    }
  }

  // A push's update runs when the server's processor has done those before.
  void update(Worker& worker, int64_t up, double time)
  {
    int64_t processor = shape_.update[up];
    if (processor == NONE)
      return;
    double& free_at = worker.free_at[processor];
    free_at = std::max(free_at, time) + shape_.update_ns[worker.recorded * shape_.ups + up];
    worker.last = std::max(worker.last, free_at);
  }

  // All that is left of a step is known: say when it ends.
  void expect_end(int64_t w)
  {
    events_.put(first_up_ + servers_ + w, std::max(workers_[w].last, workers_[w].backward_end));
  }

  void end_step(int64_t w)
  {
    Worker& worker = workers_[w];
    events_.put(first_up_ + servers_ + w, NEVER);
    ended.push_back({w, worker.done, worker.started, now_});
    book(worker);
    worker.ended = now_;
    worker.busy = false;
    bool further = worker.done++ == slowest_ and --at_slowest_ == 0 and find_slowest();
    if (not further) {
      if (may_begin(worker))
        begin_step(w);
      return;
    }
    for (size_t other = 0; other < workers_.size(); other++)
      if (may_begin(workers_[other]))
        begin_step(other);
  }

  // How many steps the slowest has ended, and how many are there; whether that is more than before.
  bool find_slowest()
  {
    int64_t before = slowest_;
    slowest_ = workers_[0].done;
    for (const Worker& worker : workers_)
      slowest_ = std::min(slowest_, worker.done);
    at_slowest_ = 0;
    for (const Worker& worker : workers_)
      at_slowest_ += worker.done == slowest_;
    return slowest_ > before;
  }

  // How the worker spent its step, by what it did at once.
  void book(Worker& worker)
  {
    double receiving = worker.down_end - worker.started;
    double behind = worker.forward_end - worker.down_end;
    double ahead = shape_.forward_sum[worker.recorded] * worker.factor - behind;
    double backward = worker.backward_end - worker.forward_end;
    worker.spent[RECEIVING] += receiving - ahead;
    worker.spent[RECEIVING | COMPUTING] += ahead;
    worker.spent[COMPUTING] += behind + backward - worker.sent_computing;
    worker.spent[SENDING | COMPUTING] += worker.sent_computing;
    worker.spent[SENDING] += worker.sent_only;
    worker.spent[0] += now_ - worker.started - receiving - behind - backward - worker.sent_only;
  }
};

void report(double wall_s, const Job& job, const FastRun& run, bool ends)
{
  std::printf("{\"release\": \"g++ %s\", \"wall_s\": %.9f, \"steps\": %zu", __VERSION__, wall_s, run.ended.size());
  if (ends) {
    Floats end(job.workers * job.steps, 0);
    for (const Ended& step : run.ended)
      end[step.worker * job.steps + step.step] = step.end;
    std::printf(", \"ends_ns\": ");
    for (size_t i = 0; i < end.size(); i++)
      std::printf("%s%.17g", i == 0 ? "[[" : i % job.steps ? ", " : "], [", end[i]);
    std::printf("]]");
  }
  std::printf("}\n");
}

} // namespace

int main(int argc, char* argv[])
{
  if (argc < 2) {
    std::fprintf(stderr, "usage: fast_twin DUMP [--ends]\n");
    return 2;
  }
  try {
    Job job = read_job(argv[1]);
    FastRun run(job);
    auto begin = std::chrono::steady_clock::now();
    run.run();
    std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    report(wall.count(), job, run, argc > 2 && std::strcmp(argv[2], "--ends") == 0);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
  return 0;
}
