/**
 * The load generator, in a process of its own. It signs all requests first, then sends one request at a time on each
 * connection (closed loop). It uses plain sockets, so that it needs little CPU. `load.ts` controls it by messages.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { type BenchPartner, signedBytes, type UnsignedRequest } from './sign.ts'
import { serveRequests } from './child.ts'
import type { LoadMessage, LoadReport, LoadSpec } from './load.ts'

const signersMax = 8
/** A quarter of `Retry-After`. */
const insistMs = 250
const percentile = (sorted: Float64Array, share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

const paths = { payout: '/v1/payouts/fiat', deposit: '/v1/simulations/deposits' } as const

function unsigned(
  { kind, keyPrefix }: LoadSpec,
  { beneficiaryId, customerId }: BenchPartner,
  index: number,
): UnsignedRequest {
  const of = kind === 'payout' ? { beneficiaryId } : { customerId, outcome: 'completed' }
  const body = JSON.stringify({ amount: 0.05, currency: 'EUR', ...of, idempotencyKey: `${keyPrefix}-${index}` })
  return { method: 'POST', path: paths[kind], body }
}

async function signAll(spec: LoadSpec, key: KeyObject): Promise<readonly Buffer[]> {
  const requests = Array<Buffer>(spec.count)
  let next = 0
  const signer = async () => {
    for (let index = next++; index < spec.count; index = next++) {
      const partner = spec.partners[index % spec.partners.length] as BenchPartner
      requests[index] = await signedBytes(partner, key, unsigned(spec, partner, index))
    }
  }
  await Promise.all(Array.from({ length: signersMax }, signer))
  return requests
}

/** Reads one answer from the received text; undefined if it is incomplete. In Latin-1 one character is one byte. */
function takeAnswer(
  text: string,
): { readonly status: number; readonly body: string; readonly rest: string } | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd + 2))?.[1] ?? 0)
  const end = headEnd + 4 + length
  if (text.length < end) return undefined
  return { status: Number(text.slice(9, 12)), body: text.slice(headEnd + 4, end), rest: text.slice(end) }
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.removeListener('error', reject)
      resolve(socket)
    })
  })
}

type Outcome = { readonly index: number; readonly status: number; readonly startedMs: number; readonly endedMs: number }
type Drive = {
  readonly outcomes: Outcome[]
  readonly unknown: number[]
  /** Returns the index of the next request, or undefined after the end of the round. */
  readonly take: () => number | undefined
  problem: string | undefined
  turnedAway: number
  readonly isOver: () => boolean
}

/** Resolves when the round is over or the connection breaks. */
function keepBusy(socket: Socket, requests: readonly Buffer[], drive: Drive, insist: boolean): Promise<void> {
  return new Promise((resolve) => {
    let text = ''
    let current: number | undefined
    let startedMs = 0
    const send = (index: number | undefined) => {
      current = index
      if (index === undefined) {
        socket.end()
        return resolve()
      }
      startedMs = performance.now()
      socket.write(requests[index] as Buffer)
    }
    const broken = () => {
      if (current !== undefined) drive.unknown.push(current)
      current = undefined
      resolve()
    }
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const answer = takeAnswer(text)
      if (!answer || current === undefined) return
      text = answer.rest
      if (answer.status === 503 && insist) {
        drive.turnedAway += 1
        setTimeout(() => send(drive.isOver() ? undefined : current), insistMs)
        return
      }
      if (answer.status >= 300) drive.problem ??= `${answer.status} ${answer.body.slice(0, 300)}`
      drive.outcomes.push({ index: current, status: answer.status, startedMs, endedMs: performance.now() })
      send(drive.take())
    })
    socket.on('error', broken)
    socket.on('close', broken)
    send(drive.take())
  })
}

async function drive(spec: LoadSpec, requests: readonly Buffer[]): Promise<LoadReport> {
  const sockets = await Promise.all(Array.from({ length: spec.connections }, () => opened(spec.port)))
  const cpu = process.cpuUsage()
  const begunMs = performance.now()
  const countedMs = begunMs + (spec.leadSeconds ?? 0) * 1000
  const deadlineMs = countedMs + spec.seconds * 1000
  let issued = 0
  let endMs: number | undefined
  const state: Drive = {
    outcomes: [],
    unknown: [],
    problem: undefined,
    turnedAway: 0,
    isOver: () => performance.now() >= deadlineMs,
    take: () => {
      if (issued < spec.count && performance.now() < deadlineMs) return issued++
      // The rate covers the time in which every connection was busy.
      endMs ??= performance.now()
      return undefined
    },
  }
  await Promise.all(sockets.map((socket) => keepBusy(socket, requests, state, spec.insist === true)))
  if (state.problem !== undefined) throw new Error(`the service refused a request: ${state.problem}`)
  const { user, system } = process.cpuUsage(cpu)
  const wallMs = performance.now() - begunMs
  const busyMs = (endMs ?? performance.now()) - countedMs
  const ok = state.outcomes.filter(({ status }) => status < 300)
  const counted = ok.filter(({ endedMs }) => endedMs > countedMs)
  const latencies = Float64Array.from(counted, ({ startedMs, endedMs }) => endedMs - startedMs).sort()
  return {
    rate: counted.filter(({ endedMs }) => endedMs <= countedMs + busyMs).length / (busyMs / 1000),
    accepted: ok.length,
    refused: state.outcomes.length - ok.length + state.turnedAway,
    unknown: state.unknown.length,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    busySeconds: busyMs / 1000,
    cpuShare: (user + system) / 1000 / wallMs,
  }
}

let prepared: { readonly spec: LoadSpec; readonly requests: readonly Buffer[] } | undefined

serveRequests<LoadMessage>(async (message) => {
  if ('prepare' in message) {
    const { prepare: spec, privateKeyPem } = message
    prepared = { spec, requests: await signAll(spec, createPrivateKey(privateKeyPem)) }
    return undefined
  }
  if (!prepared) throw new Error('nothing is prepared')
  return drive(prepared.spec, prepared.requests)
})
