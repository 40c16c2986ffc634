/** Partners whose payouts wait for a second person. */
import type { Caller } from '../../service/src/kernel/api/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import type { ApprovalRule } from '../../service/src/payouts/controls/index.ts'
import { addPartner, type Service } from './composition.ts'

export type RuleFields = Partial<Omit<ApprovalRule, 'partnerId' | 'id'>>

/** An approval rule of a partner, for euros and a day. Without `fields` nothing waits. */
export const approvalRule = (partnerId: string, fields: RuleFields) => ({
  partnerId,
  currency: 'EUR' as const,
  aboveAmount: null,
  aboveDayAmount: null,
  aboveBulkAmount: null,
  perPersonAmount: null,
  beneficiaryHours: null,
  payeeMismatch: false,
  expiresHours: 24,
  needsPasskey: false,
  ...fields,
})

export const setApprovalRule = ({ db, payoutControls }: Service, partnerId: string, fields: RuleFields) =>
  db.transaction((tx) => payoutControls.approvalRules.set(tx, approvalRule(partnerId, fields)))

/** A partner with money and an approval rule, and two further service accounts, which may approve. */
export async function addApprovers(service: Service, fields: RuleFields, floatMinor = 1_000_000n) {
  const partner = await addPartner(service, floatMinor)
  await setApprovalRule(service, partner.partnerId, fields)
  const personOf = (name: string): Caller => ({ ...partner.caller, serviceAccountId: newId(), name })
  return { ...partner, second: personOf('Second person'), third: personOf('Third person'), personOf }
}
