/** The type of each operation's handler, derived from the operations table: a missing or misspelt one does not compile. */
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

export type Call<K extends OperationId> = {
  readonly caller: Caller
  readonly params: ParamsOf<K>
  readonly query: QueryOf<K>
  readonly body: BodyOf<K>
  readonly requestId: string
  /** The client's IP address. */
  readonly ip: string
  /** The key of the header or the body. Undefined: none is given, or the operation accepts none. */
  readonly idempotencyKey?: string | undefined
  /** Open only if the operation declares `nonce: 'handler'`. Absent in an api process: its gateway has consumed the nonce. */
  readonly nonce?: OpenNonce
}

export type Answer<T> = {
  readonly body: T
  /** The customer whose data the body contains, if the body does not name it. An answer that is kept is erased with the customer. */
  readonly customerId?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** The file of an operation with `content`. */
  readonly content?: Content
  /** The content of an operation that is `streamed`. */
  readonly stream?: Stream
}

/** Content of unknown length. */
export type Stream = {
  readonly mediaType: string
  readonly fileName: string
  /** Read once. Throws if the content ends early, so that no partial content looks whole. */
  readonly read: () => AsyncIterable<Uint8Array>
  /** Called once, when the reader has everything or has disconnected. */
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

/** All handlers of one operation group, or of several: `Handlers<'accounts' | 'monitors'>`. */
export type Handlers<G extends OperationGroup> = { readonly [K in OperationOf<G>]: Handler<K> }
/** All handlers of the API. */
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
 * Calls an operation in this process for a person who has signed in, with the permissions, the validation, the audit and the refusals of
 * a request.
 */
export type Operate = <K extends OperationId>(id: K, call: InProcessCall) => Promise<ResponseOf<K>>

/** Reads the file of an operation with `content` in the same way. */
export type Download = (
  id: 'getReportContent',
  call: InProcessCall,
) => Promise<{
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | AsyncIterable<Uint8Array>
}>

/** The nonce of a request: a service account may use it once. */
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

// The authenticated caller. The gateway creates it once the signature is verified; modules see nothing else of authentication.

/** Null: no end. An empty list: any address. */
export type KeyBounds = { readonly expiresAt: Date | null; readonly allowedAddresses: readonly string[] }

export type Caller = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** The end and the addresses of a service account, which its holder passes to no other one. Absent: a person, or a key without either. */
  readonly bounds?: KeyBounds
  /** Time at which the person signed in in the console. Absent: a service account. */
  readonly signedInAt?: Date
  /** The staff member of an impersonation session. Its writes are refused. */
  readonly impersonatedBy?: string
  /** How the person has confirmed this request. Only for requests that a page has asked to confirm. */
  readonly confirmation?: SignedApproval
  /** Id of the request that it sends. */
  readonly requestId?: string
}
