/** A TCP proxy between processes and their database, which can cut or stall connections. */
import { once } from 'node:events'
import { connect, createServer, type Socket, type AddressInfo } from 'node:net'

export type TcpProxy = {
  readonly port: number
  /** Closes every connection and accepts no new one. */
  readonly cut: () => Promise<void>
  /** Accepts connections and bytes, and forwards nothing. */
  readonly hold: () => void
  /** Stalls the open connections forever. New connections work. */
  readonly strand: () => void
  /** Ends `cut` and `hold`. */
  readonly mend: () => Promise<void>
  /** Connects new connections to this port. */
  readonly lead: (port: number) => void
  /** Sockets that are open, two for each connection. */
  readonly open: () => number
  readonly close: () => Promise<void>
}

export async function startTcpProxy(targetPort: number, host = '127.0.0.1'): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let target = targetPort
  // Connections share the state of their time, so that stranded ones stay stalled.
  let generation = { held: false }
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  }
  const server = createServer((inner) => {
    const outer = connect({ port: target, host })
    const own = generation
    track(inner)
    track(outer)
    // The end of a stranded connection is not forwarded.
    inner.once('close', () => own === generation && outer.destroy())
    outer.once('close', () => own === generation && inner.destroy())
    inner.on('data', (chunk) => !own.held && outer.write(chunk))
    outer.on('data', (chunk) => !own.held && inner.write(chunk))
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
      generation.held = true
    },
    strand: () => {
      generation.held = true
      generation = { held: false }
    },
    lead: (newPort) => {
      target = newPort
    },
    mend: async () => {
      // These connections have lost bytes.
      if (generation.held) destroyAll()
      generation = { held: false }
      if (!server.listening) await listen(port)
    },
    open: () => sockets.size,
    close: async () => {
      if (server.listening) await cut()
    },
  }
}
