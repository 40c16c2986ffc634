/**
 * The gateway with its sockets on a thread of their own (`thread.ts`): HTTP, JSON of problems and RSA there, nonces,
 * handlers and the database here, so that one process uses two cores. Decision 0015.
 */
import { Worker } from 'node:worker_threads'
import type { Access } from '../access/index.ts'
import { Unreachable } from '../kernel/index.ts'
import { badSignature } from './authenticate.ts'
import { createDesk, type DeskOptions } from './desk.ts'
import type { Gateway } from './gateway.ts'
import { type FromThread, inBatches, type ThreadSettings, type ToThread } from './messages.ts'
import { toProblem } from './problems.ts'
import type { ServerOptions } from './server.ts'

export type ThreadedOptions = DeskOptions &
  ThreadSettings & { readonly access: Access; readonly observe?: ServerOptions['observe'] }

export function createThreadedGateway(options: ThreadedOptions): Gateway {
  const { bodyBytesMax, headerBytesMax, requestsMax, logLevel, windowSeconds, rate } = options
  const settings: ThreadSettings = { bodyBytesMax, headerBytesMax, requestsMax, logLevel, windowSeconds, rate }
  const thread = new Worker(new URL('./thread.ts', import.meta.url), { workerData: settings, env: {} })
  const say = inBatches<ToThread>((messages) => thread.postMessage(messages))
  const { promise: listening, resolve: listens, reject: fails } = Promise.withResolvers<number>()
  const { promise: ended, resolve: ends } = Promise.withResolvers<void>()
  let closing = false
  thread.once('exit', (code) => {
    ends()
    // Without its sockets the service is none: whoever watches the process starts it again.
    if (!closing) throw new Error(`the thread of the sockets has ended with ${code}`)
  })
  // What nobody caught there is thrown here, and ends the process as it would without a thread.
  thread.once('error', (error) => {
    throw error
  })
  const hear = hearing(options, say)
  thread.on('message', (messages: readonly FromThread[]) => {
    for (const message of messages)
      if (message.say === 'listening') listens(message.port)
      else if (message.say === 'failed') fails(Object.assign(new Error(message.message), { code: message.code }))
      else hear(message)
  })
  const close = async () => {
    closing = true
    say({ say: 'close' })
    await ended
  }
  return {
    listen: async (host, port) => {
      say({ say: 'listen', host, port })
      try {
        return await listening
      } catch (error) {
        await close()
        throw error
      }
    },
    close,
  }
}

function hearing(options: ThreadedOptions, say: (message: ToThread) => void) {
  const { access, observe, log } = options
  const desk = createDesk(options)
  const visited = async ({ number, apiKey, visit }: Extract<FromThread, { readonly say: 'visit' }>) => {
    // Asked again: between the signature and here the key may have been revoked, and the thread has an older copy.
    const credential = await access.credential(apiKey)
    if (!credential) throw badSignature()
    const body = Buffer.from(visit.body, 'latin1')
    say({ say: 'reply', number, reply: await desk.serve(credential.caller, { ...visit, body }) })
  }
  return (message: FromThread): void => {
    if (message.say === 'answered') observe?.(message.operation, message.status, message.durationMs)
    else if (message.say === 'credential')
      void access.credential(message.apiKey).then(
        (credential) => say({ say: 'credential', number: message.number, credential }),
        (error: unknown) => {
          // What failed is logged here: an error of the driver does not cross.
          const code = error instanceof Unreachable ? error.code : undefined
          if (code === undefined) log.error({ err: error }, 'a credential could not be read')
          say({ say: 'unknown', number: message.number, code, message: 'a credential could not be read' })
        },
      )
    else if (message.say === 'visit')
      void visited(message).catch((error: unknown) => {
        const { requestId, path: instance } = message.visit
        const reply = toProblem(error, { requestId, instance, log: log.child({ requestId }) })
        say({ say: 'reply', number: message.number, reply })
      })
  }
}
