/** The sealed API secrets. */
import type { SealedColumn } from '../postgres/index.ts'
import { secretContext } from './credentials.ts'

export const sealedApiSecrets: SealedColumn = {
  table: 'access.service_accounts',
  column: 'api_secret_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
}
