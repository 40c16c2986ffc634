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
  /** What is connected stays open and silent for good; whoever connects anew gets through. */
  readonly strand: () => void
  readonly mend: () => Promise<void>
  /** New connections lead there. */
  readonly lead: (port: number) => void
  readonly close: () => Promise<void>
}

export async function startWire(targetPort: number, host = '127.0.0.1'): Promise<Wire> {
  const sockets = new Set<Socket>()
  let target = targetPort
  // One for the connections of one time, so that those that were stranded stay so.
  let line = { held: false }
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  }
  const server = createServer((inner) => {
    const outer = connect({ port: target, host })
    const own = line
    track(inner)
    track(outer)
    // A connection that was stranded does not tell its other end that it has gone.
    inner.once('close', () => own === line && outer.destroy())
    outer.once('close', () => own === line && inner.destroy())
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
      line.held = true
    },
    strand: () => {
      line.held = true
      line = { held: false }
    },
    lead: (newPort) => {
      target = newPort
    },
    mend: async () => {
      // What was swallowed is missing from these streams for good.
      if (line.held) destroyAll()
      line = { held: false }
      if (!server.listening) await listen(port)
    },
    close: async () => {
      if (server.listening) await cut()
    },
  }
}
