"""Real endpoints, run as processes: h2 over a socket and grpcio. They say what they saw."""

import json
import socket
import sys
from concurrent import futures

PORT = 50051
QUANTUM = 30_000


def h2_server(address, sizes):
    """Answer all requests at once, round robin; tell every DATA frame handed to the socket."""
    import h2.config
    import h2.connection
    import h2.events

    with socket.create_server((address, PORT)) as listener:
        print("ready", flush=True)
        peer, _ = listener.accept()
    link = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    link.initiate_connection()
    peer.sendall(link.data_to_send())
    left, served, paths = {}, [], {}
    while data := peer.recv(1 << 16):
        for event in link.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                path = dict(event.headers)[b":path"].decode()
                paths[event.stream_id] = path
                left[event.stream_id] = sizes[int(path.rpartition("t")[2])]
                link.send_headers(event.stream_id, [(":status", "200")])
        if len(paths) == len(sizes):
            serve(link, left, served)
        peer.sendall(link.data_to_send())
    peer.close()
    print(json.dumps({"served": served, "paths": paths}))


def serve(link, left, served):
    progress = True
    while progress:
        progress = False
        for stream in list(left):
            turn = min(QUANTUM, left[stream])
            while turn:
                step = min(
                    turn, link.local_flow_control_window(stream), link.max_outbound_frame_size
                )
                if step <= 0:
                    break
                left[stream] -= step
                turn -= step
                link.send_data(stream, bytes(step), end_stream=not left[stream])
                served.append((stream, step))
                progress = True
            if not left[stream]:
                del left[stream]


def h2_client(address, sizes):
    """Ask for all; tell the bytes of each stream in the order in which they were read."""
    import h2.config
    import h2.connection
    import h2.events

    link = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    link.initiate_connection()
    link.increment_flow_control_window(2**24)  # so that only the streams' windows matter
    for index in range(len(sizes)):
        headers = [(":method", "POST"), (":scheme", "http"), (":authority", "x")]
        headers.append((":path", f"/netcosim.Tensors/b0/t{index}"))
        link.send_headers(2 * index + 1, headers, end_stream=True)
    ended, got = 0, []
    with socket.create_connection((address, PORT)) as peer:
        peer.sendall(link.data_to_send())
        while ended < len(sizes):
            for event in link.receive_data(peer.recv(1 << 16)):
                if isinstance(event, h2.events.DataReceived):
                    got.append((event.stream_id, len(event.data)))
                    link.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                ended += isinstance(event, h2.events.StreamEnded)
            peer.sendall(link.data_to_send())
    print(json.dumps({"got": got}))


def grpc_server(address, sizes):
    """Answer `/netcosim.Tensors/bN/tM` with so many bytes, until the client has them all."""
    import grpc

    class Tensors(grpc.GenericRpcHandler):
        def service(self, details):
            index = int(details.method.rpartition("t")[2])
            return grpc.unary_unary_rpc_method_handler(
                lambda _request, _context: bytes(sizes[index])
            )

    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[Tensors()])
    assert server.add_insecure_port(f"{address}:{PORT}") == PORT
    server.start()
    print("ready", flush=True)
    with socket.create_server((address, PORT + 1)) as done:
        done.accept()[0].close()
    server.stop(None).wait()
    print(json.dumps({}))


def grpc_client(address, sizes):
    import grpc

    with grpc.insecure_channel(
        f"{address}:{PORT}", options=[("grpc.max_receive_message_length", -1)]
    ) as channel:
        calls = [
            channel.unary_unary(f"/netcosim.Tensors/b0/t{index}").future(b"ask")
            for index in range(len(sizes))
        ]
        got = [len(call.result()) for call in calls]
    socket.create_connection((address, PORT + 1)).close()
    print(json.dumps({"got": got}))


if __name__ == "__main__":
    role, where, *numbers = sys.argv[1:]
    globals()[role.replace("-", "_")](where, [int(number) for number in numbers])
