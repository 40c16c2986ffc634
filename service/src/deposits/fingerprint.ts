/** The fingerprint of the request for a deposit. It is kept as a hash, because the request names the payer. */
import { createHash } from 'node:crypto'

export const hashFingerprint = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Rows of earlier versions hold the text, a JSON array. An erased deposit and one of a credit have none. */
export const hashedFingerprint = (stored: string): string => (stored.startsWith('[') ? hashFingerprint(stored) : stored)
