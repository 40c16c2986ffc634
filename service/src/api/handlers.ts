/** The type of each operation's handler, derived from the operations table: a missing or misspelt one does not compile. */
import type { BodyOf, OperationId, OperationOf, ParamsOf, QueryOf, ResponseOf, Tag } from '@partner-payments/wire'
import type { Caller } from './caller.ts'
import type { OpenNonce } from './nonce.ts'

export type Call<K extends OperationId> = {
  readonly caller: Caller
  readonly params: ParamsOf<K>
  readonly query: QueryOf<K>
  readonly body: BodyOf<K>
  readonly requestId: string
  /** The client's IP address. */
  readonly ip: string
  /** The key from the header or the body. Undefined: none was sent, or the operation accepts none. */
  readonly idempotencyKey?: string | undefined
  /** Open only in `nonceConsumingOperations`. Absent in an api process: its gateway has consumed the nonce. */
  readonly nonce?: OpenNonce
}

export type Answer<T> = {
  readonly body: T
  readonly headers?: Readonly<Record<string, string>>
  /** The file of an operation with `content`. */
  readonly content?: Content
  /** The stream of an operation with `content` that is `streamed`. */
  readonly stream?: Stream
}

/** Content of unknown length. */
export type Stream = {
  readonly mediaType: string
  readonly fileName: string
  /** Read once. Throws if the content ends early, so that no partial content looks whole. */
  readonly read: () => AsyncIterable<Uint8Array>
  /** Called once: the reader has everything, or is gone. */
  readonly closed: () => void
}

/** A file that an operation answers. */
export type Content = {
  readonly mediaType: string
  readonly fileName: string
  readonly bytes: number
  /** SHA-256 in hexadecimal. */
  readonly sha256: string
  /** The bytes from `from` to before `until`. Throws if the content ends early, so that no partial file looks whole. */
  readonly read: (from: number, until: number) => AsyncIterable<Uint8Array>
}

export type Handler<K extends OperationId> = (call: Call<K>) => Promise<Answer<ResponseOf<K>>>

/** All handlers of one operation group. */
export type Handlers<T extends Tag> = { readonly [K in OperationOf<T>]: Handler<K> }
/** All handlers of the API. */
export type AllHandlers = { readonly [K in OperationId]: Handler<K> }

/**
 * Operations whose handler consumes the nonce of its call in the transaction that carries out the call, which saves one
 * transaction per request. For every other operation the gateway consumes the nonce before the handler runs.
 */
export const nonceConsumingOperations: ReadonlySet<OperationId> = new Set([
  'createFiatPayout',
  'createFxQuote',
  'createFxConversion',
])
