/** The sealed tokens of links. */
import type { SealedColumn } from '../postgres/index.ts'

/** Binds a sealed token to its partner and session. */
export const linkContext = (partnerId: string, sessionId: string) => [
  'checkout.sessions',
  partnerId,
  sessionId,
  'token',
]

export const sealedLinkTokens: SealedColumn = {
  table: 'checkout.sessions',
  column: 'token_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => linkContext(partnerId, cell('id')),
}
