/**
 * Strangers who send as much as they can: how long a partner waits meanwhile, against the same partner alone in the same
 * run. `node bench/strangers.ts [seconds]`, by default 5 for each attack, which is repeated until then.
 */
import { fork } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { numbersGiven } from '../scripts/arguments.ts'
import { startTestService, type TestService } from '../test/support/service.ts'

type Attack = {
  readonly connections: number
  /** Requests of one connection. */
  readonly requests: number
  readonly path: string
  readonly isPipelined: boolean
  readonly reads: boolean
}
const unsigned = { path: '/v1/accounts', isPipelined: true, reads: true }
const attacks: Readonly<Record<string, Attack>> = {
  '50 connections x 5,000 pipelined': { ...unsigned, connections: 50, requests: 5000 },
  '20 connections x 20,000 pipelined, never read': { ...unsigned, connections: 20, requests: 20_000, reads: false },
  '50 connections x 5,000 one after another': { ...unsigned, connections: 50, requests: 5000, isPipelined: false },
  '16 readers of /openapi.json': {
    connections: 16,
    requests: 1000,
    path: '/openapi.json',
    isPipelined: false,
    reads: true,
  },
  '1,500 readers of /openapi.json that never read': {
    connections: 1500,
    requests: 1,
    path: '/openapi.json',
    isPipelined: true,
    reads: false,
  },
}
const pauseBetweenRequestsMs = 10

const { seconds } = numbersGiven({ seconds: 5 }, process.argv.slice(2, 3))
const [ownAttack, baseUrl = ''] = process.argv.slice(3)

function openOne({ requests, path, isPipelined, reads }: Attack, count: (bytes: number) => void): Promise<void> {
  const { hostname, port } = new URL(baseUrl)
  const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
  return new Promise((resolve) => {
    const socket: Socket = connect({ host: hostname, port: Number(port) })
    let left = isPipelined ? 0 : requests - 1
    socket.on('connect', () => socket.write(isPipelined ? request.repeat(requests) : request))
    if (reads)
      socket.on('data', (bytes: Buffer) => {
        count(bytes.length)
        // Problems and small answers end with a brace; a longer one is asked for again when it ends so.
        if (left > 0 && /\}\n?$/.test(bytes.subarray(-2).toString('latin1'))) {
          left -= 1
          socket.write(request)
        }
      })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

async function send(attack: Attack): Promise<void> {
  const until = performance.now() + seconds * 1000
  let opened = 0
  let received = 0
  const keepOpen = async () => {
    while (performance.now() < until) {
      opened += 1
      await Promise.race([openOne(attack, (bytes) => (received += bytes)), pause(until - performance.now())])
    }
  }
  await Promise.all(Array.from({ length: attack.connections }, keepOpen))
  process.send?.({ opened, received })
  process.exit(0)
}

type Found = { readonly median: number; readonly p99: number; readonly max: number; readonly count: number }

async function measure({ client }: TestService, isOver: () => boolean): Promise<Found> {
  const latencies: number[] = []
  while (!isOver()) {
    const started = performance.now()
    const { status } = await client.get('/v1/accounts')
    if (status !== 200) throw new Error(`the partner got ${status}`)
    latencies.push(performance.now() - started)
    await pause(pauseBetweenRequestsMs)
  }
  const sorted = latencies.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  return { median: at(0.5), p99: at(0.99), max: at(1), count: sorted.length }
}

async function main(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const shown = ({ median, p99, max, count }: Found) =>
    `${count} requests, median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${max.toFixed(1)} ms`
  const service = await startTestService()
  try {
    const end = performance.now() + seconds * 1000
    const alone = await measure(service, () => performance.now() > end)
    say(`alone: ${shown(alone)}`)
    for (const name of Object.keys(attacks)) {
      const child = fork(fileURLToPath(import.meta.url), [`${seconds}`, name, service.baseUrl])
      let sent = { opened: 0, received: 0 }
      child.once('message', (message) => (sent = message as typeof sent))
      let isOver = false
      child.once('exit', () => (isOver = true))
      const found = await measure(service, () => isOver)
      const received = `${sent.opened} connections, ${Math.round(sent.received / 1024)} KiB received`
      say(`${name} (${received}): ${shown(found)}; p99 ${(found.p99 / alone.p99).toFixed(1)} times`)
    }
  } finally {
    await service.dispose()
  }
}

const attack = attacks[ownAttack ?? '']
await (attack === undefined ? main() : send(attack))
