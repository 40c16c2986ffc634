/** The types of the operations' handlers, derived from the operations table: a missing or misspelt handler does not compile. */
import type {
  BodyOf,
  OperationGroup,
  OperationId,
  OperationOf,
  ParamsOf,
  Permission,
  QueryOf,
  ResponseOf,
  SignedApproval,
} from '@partner-payments/wire'

export type OperationCall<K extends OperationId> = {
  readonly caller: Caller
  readonly params: ParamsOf<K>
  readonly query: QueryOf<K>
  readonly body: BodyOf<K>
  readonly requestId: string
  /** The client's IP address. */
  readonly ip: string
  /**
   * The idempotency key, from the header or the body. Undefined: there is none, or the operation does not accept one.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * The nonce, not yet consumed. Present only if the operation declares `nonce: 'handler'`. Absent in an api process,
   * because its gateway has consumed the nonce.
   */
  readonly nonce?: OpenNonce
}

export type OperationAnswer<T> = {
  readonly body: T
  /**
   * The customer whose data the body contains, if no field of the body identifies the customer. Stored answers are
   * erased with the customer.
   */
  readonly customerId?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** The file of an operation with `content`. */
  readonly content?: FileContent
  /** The content of an operation that is `streamed`. */
  readonly stream?: StreamContent
}

/** Content of unknown length. */
export type StreamContent = {
  readonly mediaType: string
  readonly fileName: string
  /**
   * Reads the content, once. Throws if the content ends early, so that the client does not accept partial content as
   * complete.
   */
  readonly read: () => AsyncIterable<Uint8Array>
  /** Called once, when the client has received all content or has disconnected. */
  readonly closed: () => void
}

/** A file as the answer of an operation. */
export type FileContent = {
  readonly mediaType: string
  readonly fileName: string
  readonly bytes: number
  /** SHA-256 in hexadecimal. */
  readonly sha256: string
  /**
   * Reads bytes from `from` up to `until`, exclusive. Throws if the content ends early, so that the client does not
   * accept a partial file as complete.
   */
  readonly read: (from: number, until: number) => AsyncIterable<Uint8Array>
}

export type Handler<K extends OperationId> = (call: OperationCall<K>) => Promise<OperationAnswer<ResponseOf<K>>>

/** The handlers of one operation group, or of several: `Handlers<'accounts' | 'monitors'>`. */
export type Handlers<G extends OperationGroup> = { readonly [K in OperationOf<G>]: Handler<K> }
export type AllHandlers = { readonly [K in OperationId]: Handler<K> }

type InProcessCall = {
  readonly caller: Caller
  readonly params?: Readonly<Record<string, string>>
  /** Query of a URL, without `?`. */
  readonly query?: string
  readonly body?: unknown
  /** Value of the header `Idempotency-Key`, for operations that read it. */
  readonly idempotencyKey?: string
  readonly requestId: string
  readonly ip: string
}

/**
 * Calls an operation in this process for a signed-in person, with the permissions, validation, audit and refusals of a request.
 */
export type Operate = <K extends OperationId>(id: K, call: InProcessCall) => Promise<ResponseOf<K>>

/** Reads the content of an operation with `content`, in the same way as `Operate`. */
export type Download = (
  id: 'getReportContent',
  call: InProcessCall,
) => Promise<{
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | AsyncIterable<Uint8Array>
}>

/** The nonce of a request, which a service account may use once. */
export type Nonce = {
  readonly partnerId: string
  readonly serviceAccountId: string
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  /** The nonce may be deleted after this time. */
  readonly expiresAt: Date
}

/** `consumed` becomes true when the nonce is committed. */
export type OpenNonce = Nonce & { consumed: boolean }

// The authenticated caller. The gateway creates it after it has verified the signature. Modules use no other part of authentication.

/** `expiresAt`: null if the key does not expire. `allowedAddresses`: empty if any address is allowed. */
export type KeyBounds = { readonly expiresAt: Date | null; readonly allowedAddresses: readonly string[] }

export type Caller = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /**
   * Expiry and allowed addresses of a service account. They also limit the accounts that it creates. Absent: the caller
   * is a person, or has no restriction.
   */
  readonly bounds?: KeyBounds
  /** Time at which the person signed in to the console. Absent: the caller is a service account. */
  readonly signedInAt?: Date
  /** The staff member of an impersonation session, whose writes are refused. */
  readonly impersonatedBy?: string
  /** The person's signed confirmation of this request, if a page has requested one. */
  readonly confirmation?: SignedApproval
  /** Id of the request that the caller sent. */
  readonly requestId?: string
}
