/** The fingerprint of the request for a deposit. It is kept as a hash, because the request names the payer. */
import { createHash } from 'node:crypto'

export const hashFingerprint = (text: string): string => createHash('sha256').update(text).digest('hex')
