/** The shape of every endpoint's handler, read from the operations table: a forgotten or misspelt one does not compile. */
import type { BodyOf, OperationId, OperationOf, ParamsOf, QueryOf, ResponseOf, Tag } from '@partner-payments/wire'
import type { Caller } from './caller.ts'

export type Call<K extends OperationId> = {
  readonly caller: Caller
  readonly params: ParamsOf<K>
  readonly query: QueryOf<K>
  readonly body: BodyOf<K>
  readonly requestId: string
  /** The address that the request came from. */
  readonly ip: string
}

export type Answer<T> = { readonly body: T; readonly headers?: Readonly<Record<string, string>> }

export type Handler<K extends OperationId> = (call: Call<K>) => Promise<Answer<ResponseOf<K>>>

/** All handlers of one operation group. */
export type Handlers<T extends Tag> = { readonly [K in OperationOf<T>]: Handler<K> }
/** All handlers of the API. */
export type AllHandlers = { readonly [K in OperationId]: Handler<K> }
