/** The sealed secrets of clients at providers of single sign-on. */
import type { SealedColumn } from '../../postgres/index.ts'

export const clientSecretContext = (partnerId: string): readonly string[] => [
  'users.single_sign_on.client_secret_sealed',
  partnerId,
]

export const sealedClientSecrets: SealedColumn = {
  table: 'users.single_sign_on',
  column: 'client_secret_sealed',
  key: { partner_id: 'uuid' },
  contextOf: (partnerId) => clientSecretContext(partnerId),
}

export const waitingSecretContext = (partnerId: string): readonly string[] => [
  'users.single_sign_on_changes.client_secret_sealed',
  partnerId,
]

export const sealedWaitingSecrets: SealedColumn = {
  table: 'users.single_sign_on_changes',
  column: 'client_secret_sealed',
  key: { partner_id: 'uuid' },
  contextOf: (partnerId) => waitingSecretContext(partnerId),
}
