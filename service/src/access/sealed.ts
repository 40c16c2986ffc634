/** The sealed API secrets, and the names of partners and their owners. */
import type { SealedColumn } from '../postgres/index.ts'
import { secretContext } from './credentials.ts'

export const sealedApiSecrets: SealedColumn = {
  table: 'access.service_accounts',
  column: 'api_secret_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
}

export const partnerNameContext = (partnerId: string, id: string): readonly string[] => [
  'access.partner_names',
  partnerId,
  id,
]

export const sealedPartnerNames: SealedColumn = {
  table: 'access.partner_names',
  column: 'name_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => partnerNameContext(partnerId, cell('id')),
}
