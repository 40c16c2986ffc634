/** The single use of a request. */
export type Nonce = {
  readonly partnerId: string
  readonly serviceAccountId: string
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  /** When it may be forgotten. */
  readonly expiresAt: Date
}

/** `spent` is set by whoever has spent it, once that cannot be undone. */
export type OpenNonce = Nonce & { spent: boolean }
