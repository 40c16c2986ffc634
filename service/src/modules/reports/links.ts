/** What the database has of a token. */
import { createHash } from 'node:crypto'

export const tokenHash = (token: string): Uint8Array => createHash('sha256').update(token).digest()
