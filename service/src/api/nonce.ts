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
