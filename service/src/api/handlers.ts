/** The shape of every endpoint's handler, read from the operations table: a forgotten or misspelt one does not compile. */
import type { BodyOf, OperationId, OperationOf, ParamsOf, QueryOf, ResponseOf, Tag } from '@partner-payments/wire'
import type { Caller } from './caller.ts'
import type { OpenNonce } from './nonce.ts'

export type Call<K extends OperationId> = {
  readonly caller: Caller
  readonly params: ParamsOf<K>
  readonly query: QueryOf<K>
  readonly body: BodyOf<K>
  readonly requestId: string
  /** The address that the request came from. */
  readonly ip: string
  /** For a handler that is `spending`, where the caller has signed to this process. */
  readonly nonce?: OpenNonce
}

export type Answer<T> = { readonly body: T; readonly headers?: Readonly<Record<string, string>> }

export type Handler<K extends OperationId> = (call: Call<K>) => Promise<Answer<ResponseOf<K>>>

/**
 * A handler that spends the nonce of its call itself, in the transaction in which it writes what the call asks for: one
 * transaction fewer a call. Everybody else's is spent before the handler runs.
 */
export const spending = <K extends OperationId>(handler: Handler<K>): Handler<K> =>
  Object.assign(handler, { isSpending: true })
export const isSpending = (handler: object): boolean => 'isSpending' in handler

/** All handlers of one operation group. */
export type Handlers<T extends Tag> = { readonly [K in OperationOf<T>]: Handler<K> }
/** All handlers of the API. */
export type AllHandlers = { readonly [K in OperationId]: Handler<K> }
