/** What the thread of the sockets and the thread of the house say to each other. */
import type { OperationId } from '@partner-payments/wire'
import type { Credential } from '../access/index.ts'
import type { LogLevel, Unreachable } from '../kernel/index.ts'
import type { Visit } from './desk.ts'
import type { EntryOptions } from './front.ts'
import type { Settings } from './gateway.ts'
import type { Reply } from './server.ts'

/** With which the thread is made. */
export type ThreadSettings = Settings & {
  readonly logLevel: LogLevel
  readonly windowSeconds: number
  readonly rate: EntryOptions['rate']
}

/** `number`: of the question, for its answer. A body travels as text of bytes: a view would take its whole buffer along. */
export type FromThread =
  | { readonly say: 'listening'; readonly port: number }
  | { readonly say: 'failed'; readonly code: string | undefined; readonly message: string }
  | { readonly say: 'credential'; readonly number: number; readonly apiKey: string }
  | {
      readonly say: 'visit'
      readonly number: number
      readonly apiKey: string
      readonly visit: Omit<Visit, 'body'> & { readonly body: string }
    }
  | {
      readonly say: 'answered'
      readonly operation: OperationId | 'unknown'
      readonly status: number
      readonly durationMs: number
    }

export type ToThread =
  | { readonly say: 'listen'; readonly host: string; readonly port: number }
  | { readonly say: 'close' }
  | { readonly say: 'credential'; readonly number: number; readonly credential: Credential | undefined }
  /** The credential could not be looked up: `code` where the database is away, none where something failed on our side. */
  | {
      readonly say: 'unknown'
      readonly number: number
      readonly code: Unreachable['code'] | undefined
      readonly message: string
    }
  | { readonly say: 'reply'; readonly number: number; readonly reply: Reply | undefined }

const messagesMax = 16

/**
 * Sends what is said in one turn of the event loop together: a message of its own costs ten times what it carries. Many
 * do not wait for the end of a long turn, so that the other side has something to do.
 */
export function inBatches<T>(post: (messages: readonly T[]) => void): (message: T) => void {
  let waiting: T[] = []
  const send = () => {
    if (waiting.length > 0) post(waiting)
    waiting = []
  }
  return (message) => {
    if (waiting.push(message) === 1) setImmediate(send)
    else if (waiting.length >= messagesMax) send()
  }
}
