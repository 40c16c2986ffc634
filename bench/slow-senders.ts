/**
 * Thousands of slow connections without a valid signature: the resident memory of the service, and how a partner is
 * answered meanwhile. `node bench/slow-senders.ts [connections] [seconds]`, by default 5,000 and 20 for each load.
 */
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { numbersGiven } from '../scripts/arguments.ts'
import { startTestService, type TestService } from '../test/support/service.ts'
import { forgedHead, openSender } from '../test/support/slow-sender.ts'

const loads = {
  'slow headers': { text: () => 'GET /v1/accounts HTTP/1.1\r\nX-Slow: ', part: 'x', pauseMs: 1000 },
  'incomplete bodies of 200 KiB': { text: () => forgedHead(204_801) + 'x'.repeat(204_800), part: '', pauseMs: 1000 },
  'bodies byte by byte': { text: () => forgedHead(262_144), part: 'x', pauseMs: 200 },
} as const
type Load = keyof typeof loads

const { connectionsMax, seconds } = numbersGiven({ connectionsMax: 5000, seconds: 20 }, process.argv.slice(2, 4))
const [ownLoad, baseUrl] = process.argv.slice(4)
const openedAtOnceMax = 250
const pauseBetweenRequestsMs = 20

/** Keeps the number of slow connections constant: opens a new one for each that the service closes. */
async function send(load: Load, url: string): Promise<void> {
  const { text, part, pauseMs } = loads[load]
  const until = performance.now() + seconds * 1000
  let open = 0
  let opened = 0
  while (performance.now() < until) {
    for (let count = 0; count < openedAtOnceMax && open < connectionsMax; count += 1) {
      const { socket, closed } = openSender(url, text())
      open += 1
      opened += 1
      const timer = part === '' ? undefined : setInterval(() => socket.writable && socket.write(part), pauseMs)
      void closed.then(() => {
        clearInterval(timer)
        open -= 1
      })
    }
    await pause(50)
  }
  process.send?.({ opened })
  process.exit(0)
}

const residentMb = (pid: number): number => {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}

/** Sends the requests of a partner one after another until `isOver`. */
async function measure({ client, pid }: TestService, isOver: () => boolean): Promise<string> {
  const latencies: number[] = []
  const statuses = new Map<number, number>()
  let residentMaxMb = 0
  while (!isOver()) {
    const started = performance.now()
    const { status } = await client.get('/v1/accounts')
    latencies.push(performance.now() - started)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    residentMaxMb = Math.max(residentMaxMb, residentMb(pid))
    await pause(pauseBetweenRequestsMs)
  }
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)
  const answers = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ')
  return `resident memory at most ${residentMaxMb} MB; partner: ${answers}, median ${at(0.5)} ms, p99 ${at(0.99)} ms`
}

async function main(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const service = await startTestService()
  try {
    const end = performance.now() + 5000
    say(`no load: ${await measure(service, () => performance.now() > end)}`)
    for (const load of Object.keys(loads)) {
      const child = fork(fileURLToPath(import.meta.url), [`${connectionsMax}`, `${seconds}`, load, service.baseUrl])
      let opened = 0
      child.once('message', (message) => (opened = (message as { readonly opened: number }).opened))
      let isOver = false
      child.once('exit', () => (isOver = true))
      const found = await measure(service, () => isOver)
      say(`${load}, ${connectionsMax} connections at once, ${opened} opened in ${seconds} s: ${found}`)
    }
    await pause(5000)
    say(`5 s after: resident memory ${residentMb(service.pid)} MB`)
  } finally {
    await service.dispose()
  }
}

await (ownLoad === undefined ? main() : send(ownLoad as Load, baseUrl ?? ''))
