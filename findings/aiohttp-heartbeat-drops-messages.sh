#!/usr/bin/env bash
# A WebSocket client of Python's aiohttp 3.8.4 (Debian 12) reads the pong to its own `heartbeat` only when the program asks for the next
# message. If the program awaits something else for half a heartbeat, the client closes the connection with 1006. It drops the messages
# that had arrived, and `async for` ends without an error. Without `heartbeat`, all messages come.
# Seen: "None: 0 1 2, open" and "1: 0, ended without an error, 1006".
# Needs: apt-get, as root, or python3-aiohttp 3.8.4.
set -euo pipefail
if ! dpkg-query -W python3-aiohttp >/dev/null 2>&1; then apt-get install -y -qq python3-aiohttp >/dev/null; fi
dpkg-query -W -f '${Version}' python3-aiohttp | grep -q '^3\.8\.4-' || { echo "This needs python3-aiohttp 3.8.4."; exit 1; }
diff - <(/usr/bin/python3 - <<'END'
import asyncio
from aiohttp import ClientSession, web


async def serve(request):
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    for number in range(3):
        await socket.send_str(str(number))
    async for _ in socket:  # Answers every ping.
        pass
    return socket


async def take(socket, taken):
    async for message in socket:
        taken.append(message.data)
        await asyncio.sleep(2 if message.data == "0" else 0)  # Stores it in a database, for example.


async def main():
    app = web.Application()
    app.router.add_get("/", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    async with ClientSession() as session:
        for heartbeat in (None, 1):
            taken = []
            async with session.ws_connect(f"http://127.0.0.1:{port}/", heartbeat=heartbeat) as socket:
                try:
                    await asyncio.wait_for(take(socket, taken), 4)
                    end = f"ended without an error, {socket.close_code}"
                except asyncio.TimeoutError:
                    end = "open"
            print(f"{heartbeat}: {' '.join(taken)}, {end}")
    await runner.cleanup()


asyncio.run(main())
END
) <<'END'
None: 0 1 2, open
1: 0, ended without an error, 1006
END
echo "As described."
