/** The sealed secrets of authenticator apps. */
import type { SealedColumn } from '../../postgres/index.ts'

export const totpContext = (partnerId: string, memberId: string): readonly string[] => [
  'sign_in.passwords.totp_sealed',
  partnerId,
  memberId,
]

export const sealedTotpSecrets: SealedColumn = {
  table: 'sign_in.passwords',
  column: 'totp_sealed',
  key: { member_id: 'uuid' },
  contextOf: (partnerId, cell) => totpContext(partnerId, cell('member_id')),
}
