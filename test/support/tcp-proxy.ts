/** A wire that can be cut: between processes and their database, or silent without being cut. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export type Wire = {
  readonly port: number
  /** Ends every connection and takes no new one. */
  readonly cut: () => Promise<void>
  /** Takes connections and bytes, and passes nothing on. */
  readonly hold: () => void
  readonly mend: () => Promise<void>
  readonly close: () => Promise<void>
}

export async function startWire(targetPort: number, host = '127.0.0.1'): Promise<Wire> {
  const sockets = new Set<Socket>()
  let held = false
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  }
  const server = createServer((inner) => {
    const outer = connect({ port: targetPort, host })
    track(inner)
    track(outer)
    inner.once('close', () => outer.destroy())
    outer.once('close', () => inner.destroy())
    inner.on('data', (chunk) => !held && outer.write(chunk))
    outer.on('data', (chunk) => !held && inner.write(chunk))
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const cut = async () => {
    const closed = once(server.close(), 'close')
    destroyAll()
    await closed
  }
  return {
    port,
    cut,
    hold: () => {
      held = true
    },
    mend: async () => {
      // What was swallowed is missing from these streams for good.
      if (held) destroyAll()
      held = false
      if (!server.listening) await listen(port)
    },
    close: async () => {
      if (server.listening) await cut()
    },
  }
}
