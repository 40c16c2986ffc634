/** The sealed secrets of mails. */
import type { SealedColumn } from '../postgres/index.ts'

/** Names the table that held tokens before migration 0022, so that rows which were sealed then open. */
export const secretContext = (partnerId: string, mailId: string) => ['users.mails', partnerId, mailId, 'token']

export const sealedMailSecrets: SealedColumn = {
  table: 'mail.messages',
  column: 'secret_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
}
