/**
 * Handles one request at a time per connection. Node would parse all pipelined requests of a packet, possibly
 * thousands, before it serves another connection. Here the parser gets one head, and later bytes wait in the socket
 * until the answer is sent, so that no requests are queued for a client that does not read its answers.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { present, secondMs } from '../../kernel/index.ts'

const endOfHead = '\r\n\r\n'
/**
 * Maximum parts of a connection's bytes that are parsed in one turn of the event loop. Enough for a head and its body.
 */
const partsPerTurn = 8
/** Maximum number of pipelined requests, of all connections together, that begin in one turn of the event loop. */
const resumedPerTurn = 4
/** Time after which a client that does not read its answer is disconnected. */
const unreadAnswerMsMax = 20 * secondMs

export function limitPipelining(server: Server, unreadMsMax = unreadAnswerMsMax): void {
  const throttle = createTurnThrottle(resumedPerTurn)
  const answers = new WeakMap<Socket, Set<ServerResponse>>()
  server.on('connection', (socket) => {
    const open = new Set<ServerResponse>()
    answers.set(socket, open)
    // Also ends Node's direct path from the socket to the parser, which bypasses the listeners.
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[]
    socket.removeAllListeners('data')
    socket.on('data', (bytes: Buffer) =>
      feed(socket, open, bytes, present(parse, 'no listener of Node for `data` on the new connection')),
    )
    socket.on('timeout', () => socket.destroy())
  })
  // Registered before the listener that may answer at once.
  server.prependListener('request', ({ socket }, answer) => {
    const open = present(answers.get(socket), 'no `connection` event before the request')
    open.add(answer)
    answer.once('prefinish', () => socket.setTimeout(unreadMsMax))
    answer.once('close', () => {
      open.delete(answer)
      // The time limit applies only to unread answers. Without answers Node has set the timeout of an idle connection.
      if (open.size > 0) socket.setTimeout(0)
      else if (socket.isPaused()) void throttle().then(() => socket.resume())
    })
  })

  /** Passes the bytes to the parser in parts until a request awaits its answer, and returns the rest to the socket. */
  function feed(
    socket: Socket,
    open: ReadonlySet<ServerResponse>,
    bytes: Buffer,
    parse: (bytes: Buffer) => void,
  ): void {
    const isAnswering = () => [...open].some(({ req }) => req.complete)
    let rest = bytes
    for (let parts = 0; rest.length > 0 && socket.writable; parts += 1) {
      const isTurnOver = parts === partsPerTurn
      // Node pauses the socket while a body waits for its reader, and resumes it.
      if (isTurnOver || isAnswering() || (parts > 0 && socket.isPaused())) {
        if (isTurnOver && !socket.isPaused()) void throttle().then(() => socket.resume())
        socket.pause()
        socket.unshift(rest)
        return
      }
      const end = rest.indexOf(endOfHead)
      const length = end === -1 ? rest.length : end + endOfHead.length
      parse(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  }
}

/**
 * Limits the work that begins in one turn of the event loop. A signature takes a tenth of a millisecond on the thread that also reads
 * the answers of the database. Without the limit, thirty concurrent requests would delay these answers by as long as a commit takes. A
 * pipelined request costs the same.
 */

/**
 * Creates a throttle. Its promises resolve in the order of the calls, `perTurn` of them in each turn of the event loop.
 */
export function createTurnThrottle(perTurn: number): () => Promise<void> {
  const waiting: (() => void)[] = []
  let isScheduled = false
  const runTurn = () => {
    for (const proceed of waiting.splice(0, perTurn)) proceed()
    isScheduled = waiting.length > 0
    if (isScheduled) setImmediate(runTurn)
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (isScheduled) return
      isScheduled = true
      setImmediate(runTurn)
    })
}
