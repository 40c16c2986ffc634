/** The program of the thread of the sockets (`threaded.ts`). */
import { parentPort, workerData } from 'node:worker_threads'
import type { Access, Credential } from '../access/index.ts'
import { minuteMs, present, systemClock, threadLog, Unreachable } from '../kernel/index.ts'
import { createCapacity } from './capacity.ts'
import { docsAssets } from './docs.ts'
import { createFront, type Serve } from './front.ts'
import { openGateway } from './gateway.ts'
import { type FromThread, inBatches, type ThreadSettings, type ToThread } from './messages.ts'
import type { Reply } from './server.ts'

const port = present(parentPort, 'this is the program of a thread')
const settings = workerData as ThreadSettings
const say = inBatches<FromThread>((messages) => port.postMessage(messages))

let questions = 0
const credentialsAsked = new Map<number, PromiseWithResolvers<Credential | undefined>>()
const repliesAsked = new Map<number, (reply: Reply | undefined) => void>()

/**
 * The house asks again at every request, whether the key is still good; what is kept here is what its signatures are
 * verified with, which never changes.
 */
const keptMs = minuteMs
const keptMax = 10_000
const kept = new Map<string, { readonly credential: Promise<Credential | undefined>; readonly until: number }>()

const credential: Access['credential'] = (apiKey) => {
  const now = performance.now()
  const known = kept.get(apiKey)
  if (known && known.until > now) return known.credential
  const asked = Promise.withResolvers<Credential | undefined>()
  questions += 1
  credentialsAsked.set(questions, asked)
  say({ say: 'credential', number: questions, apiKey })
  if (kept.size >= keptMax) kept.clear()
  kept.set(apiKey, { credential: asked.promise, until: now + keptMs })
  // Only what is there is remembered: a key that is made now is good now.
  const forget = () => void kept.delete(apiKey)
  asked.promise.then((found) => found ?? forget(), forget)
  return asked.promise
}

const serve: Serve = ({ apiKey }, visit) =>
  new Promise((resolve) => {
    questions += 1
    repliesAsked.set(questions, resolve)
    say({ say: 'visit', number: questions, apiKey, visit: { ...visit, body: visit.body.toString('latin1') } })
  })

const capacity = createCapacity(settings.requestsMax)
const gateway = openGateway(
  {
    ...settings,
    log: threadLog(settings.logLevel),
    pages: await docsAssets(),
    observe: (operation, status, durationMs) => say({ say: 'answered', operation, status, durationMs }),
  },
  capacity,
  createFront({ ...settings, credential, clock: systemClock, serve }, capacity),
)

async function listen(host: string, wanted: number): Promise<void> {
  try {
    say({ say: 'listening', port: await gateway.listen(host, wanted) })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    say({ say: 'failed', code, message })
  }
}

async function close(): Promise<void> {
  await gateway.close()
  // After what is still to be said.
  setImmediate(() => port.close())
}

function hear(message: ToThread): void {
  if (message.say === 'listen') return void listen(message.host, message.port)
  if (message.say === 'close') return void close()
  const { number } = message
  if (message.say === 'reply') {
    repliesAsked.get(number)?.(message.reply)
    repliesAsked.delete(number)
    return
  }
  const asked = credentialsAsked.get(number)
  credentialsAsked.delete(number)
  if (message.say === 'credential') asked?.resolve(message.credential)
  else asked?.reject(message.code ? new Unreachable(message.code, message.message) : new Error(message.message))
}

port.on('message', (messages: readonly ToThread[]) => messages.forEach(hear))
