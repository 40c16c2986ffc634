/** Runs the test bank as a program of its own, which may be killed and started again on the same folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { fromJson, toJson } from './json.ts'
import type { Book, Order, Settings } from './model.ts'
import type { OrderAnswer } from './orders.ts'
import type { SftpServer } from './sftp.ts'

type Addresses = {
  readonly control: string
  readonly toBank: string
  readonly fromBank: string
  readonly sftp?: Omit<SftpServer, 'close'>
}

export type IsoBankProgram = {
  /** Resolves when it takes files and orders. */
  readonly start: () => Promise<Addresses>
  /** Lists of orders share one call. */
  readonly order: (...orders: readonly Order[]) => Promise<readonly OrderAnswer[]>
  readonly book: () => Promise<Book>
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
}

type IsoBankProgramOptions = {
  readonly folder: string
  readonly settings?: Partial<Settings>
  readonly pollMs?: number
  readonly sftp?: boolean
  /** How far its clock is ahead of the machine's, asked at every start. */
  readonly aheadMs?: () => number
}

const mainFile = fileURLToPath(new URL('main.ts', import.meta.url))

export function createIsoBankProgram(options: IsoBankProgramOptions): IsoBankProgram {
  const { folder, settings, pollMs = 50, sftp = false, aheadMs = () => 0 } = options
  let child: ChildProcess | undefined
  let control = ''
  const words = ['--folder', folder, '--poll', String(pollMs), ...(sftp ? ['--sftp', '0'] : [])]
  const end = async (signal: NodeJS.Signals) => {
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const exited = once(running, 'exit')
    running.kill(signal)
    await exited
  }
  // So that it does not outlive a parent that ends early.
  process.once('exit', () => child?.kill('SIGKILL'))
  return {
    start: async () => {
      const given = settings === undefined ? [] : ['--settings', toJson(settings)]
      const started = spawn(process.execPath, [mainFile, ...words, ...given, `--ahead=${aheadMs()}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      child = started
      const addresses = JSON.parse(await firstLine(started)) as Addresses
      ;({ control } = addresses)
      return addresses
    },
    order: async (...orders) => {
      const { answers } = (await call(`${control}/orders`, toJson(orders))) as {
        readonly answers: readonly OrderAnswer[]
      }
      return answers
    },
    book: async () => (await call(`${control}/book`)) as Book,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let line = ''
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    line += part
    if (line.includes('\n')) resolve(line.slice(0, line.indexOf('\n')))
  })
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`the bank ended at its start (${code})`)))
  return promise
}

async function call(url: string, body?: string): Promise<unknown> {
  const sent = request(url, { method: body === undefined ? 'GET' : 'POST', agent: false })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [Parameters<typeof text>[0] & { readonly statusCode: number }]
  const answer = await text(response)
  if (response.statusCode !== 200) throw new Error(`the bank refused the order: ${answer.trim()}`)
  return fromJson(answer)
}
