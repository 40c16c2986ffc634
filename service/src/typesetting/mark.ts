/** The mark of a brand at the top of a document: its logo, or its name without one. */

export type DocumentBrand = {
  readonly name?: string | undefined
  /** `#rrggbb`, readable on white. */
  readonly accent?: string | undefined
  /** The bytes of a PNG as `branding` draws it: the library would decode others on the main thread, or end the process. */
  readonly logo?: Uint8Array | undefined
}

/** The mark is at the top right, and its height is that of the title with the issuer. */
export const markBox = { width: 150, height: 42 } as const
