/**
 * The load generator, in a process of its own. It signs all requests first, then sends one request at a time on each
 * connection (closed loop). It uses plain sockets, so that it needs little CPU. `load.ts` controls it by messages.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { type BenchPartner, signedBytes, type Unsigned } from './sign.ts'
import type { LoadReport, LoadSpec } from './load.ts'

const signersMax = 8
/** A quarter of `Retry-After`. */
const insistMs = 250
const percentile = (sorted: Float64Array, share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

function unsigned({ kind, keyPrefix, references }: LoadSpec, partner: BenchPartner, index: number): Unsigned {
  const idempotencyKey = `${keyPrefix}-${index}`
  const { beneficiaryId, customerId } = partner
  switch (kind) {
    case 'payout': {
      const body = `{"amount":0.05,"currency":"EUR","beneficiaryId":"${beneficiaryId}","idempotencyKey":"${idempotencyKey}"}`
      return { method: 'POST', path: '/v1/payouts/fiat', body }
    }
    case 'deposit': {
      const body = `{"amount":0.05,"currency":"EUR","customerId":"${customerId}","outcome":"completed","idempotencyKey":"${idempotencyKey}"}`
      return { method: 'POST', path: '/v1/simulations/deposits', body }
    }
    case 'quote': {
      const body = '{"sellCurrency":"EUR","buyCurrency":"USD","sellAmount":0.05,"kind":"held"}'
      return { method: 'POST', path: '/v1/fx/quotes', body }
    }
    case 'conversion': {
      const body = `{"quoteId":"${references[index]}","idempotencyKey":"${idempotencyKey}"}`
      return { method: 'POST', path: '/v1/fx/conversions', body }
    }
    case 'get':
      return { method: 'GET', path: `/v1/transactions/${references[index % references.length]}` }
  }
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
    const next = () => {
      current = drive.take()
      if (current === undefined) {
        socket.end()
        return resolve()
      }
      startedMs = performance.now()
      socket.write(requests[current % requests.length] as Buffer)
    }
    const again = () => {
      if (drive.isOver()) {
        current = undefined
        socket.end()
        return resolve()
      }
      startedMs = performance.now()
      socket.write(requests[(current ?? 0) % requests.length] as Buffer)
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
        setTimeout(again, insistMs)
        return
      }
      if (answer.status >= 300) drive.problem ??= `${answer.status} ${answer.body.slice(0, 300)}`
      drive.outcomes.push({ index: current, status: answer.status, startedMs, endedMs: performance.now() })
      next()
    })
    socket.on('error', broken)
    socket.on('close', broken)
    next()
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
      if ((issued < spec.count || spec.cyclic) && performance.now() < deadlineMs) return issued++
      // The rate covers the time in which every connection was busy.
      endMs ??= performance.now()
      return undefined
    },
  }
  await Promise.all(sockets.map((socket) => keepBusy(socket, requests, state, spec.insist === true)))
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
    problem: state.problem,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    busySeconds: busyMs / 1000,
    cpuShare: (user + system) / 1000 / wallMs,
    ...(spec.naming ? { acknowledged: ok.map(({ index }) => index), unanswered: state.unknown } : {}),
  }
}

let prepared: { readonly spec: LoadSpec; readonly requests: readonly Buffer[] } | undefined

process.on('message', (message: { readonly prepare: LoadSpec; readonly privateKeyPem: string } | 'go') => {
  const work = async () => {
    if (message === 'go') {
      if (!prepared) throw new Error('nothing is prepared')
      return { report: await drive(prepared.spec, prepared.requests) }
    }
    const spec = message.prepare
    // The server of a cyclic load stores no nonces, so that one set of requests serves all rounds.
    prepared = { spec, requests: await signAll(spec, createPrivateKey(message.privateKeyPem)) }
    return { prepared: true }
  }
  work().then(
    (answer) => process.send?.(answer),
    (error: Error) => process.send?.({ failed: error.stack ?? error.message }),
  )
})
process.on('disconnect', () => process.exit(0))
