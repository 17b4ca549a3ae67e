#!/usr/bin/env bash
# `recv` of Python's websocket-client 1.2.3 (Debian 12) returns an empty text when the server closes the connection, the same as for an
# empty message. It hides the code and the reason, and the next call says that the connection "was lost". `recv_data` has them.
# Seen: 'a', '', '', "Connection to remote host was lost.", and 4401 and unauthorized by recv_data.
# Needs: apt-get, as root, or python3-websocket 1.2.3 and python3-websockets.
set -euo pipefail
packages=(python3-websocket python3-websockets)
if ! dpkg-query -W "${packages[@]}" >/dev/null 2>&1; then apt-get install -y -qq "${packages[@]}" >/dev/null; fi
dpkg-query -W -f '${Version}' python3-websocket | grep -q '^1\.2\.3-' || { echo "This needs python3-websocket 1.2.3."; exit 1; }
diff - <(/usr/bin/python3 - <<'END'
import asyncio
import websocket
import websockets


async def serve(socket):
    await socket.send("a")
    await socket.send("")
    await socket.close(4401, "unauthorized")


def read(port):
    socket = websocket.create_connection(f"ws://127.0.0.1:{port}/")
    print([socket.recv() for _ in range(3)])
    try:
        socket.recv()
    except websocket.WebSocketConnectionClosedException as error:
        print(error)
    socket = websocket.create_connection(f"ws://127.0.0.1:{port}/")
    _, data = [socket.recv_data() for _ in range(3)][-1]
    print(int.from_bytes(data[:2], "big"), data[2:].decode())


async def main():
    async with websockets.serve(serve, "127.0.0.1", 0) as server:
        await asyncio.to_thread(read, server.sockets[0].getsockname()[1])


asyncio.run(main())
END
) <<'END'
['a', '', '']
Connection to remote host was lost.
4401 unauthorized
END
echo "As described."
