/** Maps API operations to module operations and response shapes, for a partner's limits and fees. */
import { payouts as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { FeeInForce } from './rules.ts'
import type { LimitWithUse, PayoutControls } from './service.ts'

export const payoutControlsRoutes = (controls: PayoutControls) =>
  ({
    listPayoutLimits: async ({ caller, query }) =>
      writePage(await controls.currentLimits(caller.partnerId, query), toLimit),
    listPayoutFees: async ({ caller, query }) => {
      const fees = await controls.currentFees(caller.partnerId, query)
      return { body: { data: fees.map(toFee), nextCursor: null, hasMore: false } }
    },
  }) satisfies Partial<Handlers<'payouts'>>

const writeLimit = createRecordWriter(wire.PayoutLimit)
const toLimit = ({ now, holder, allCurrencies, ...limit }: LimitWithUse) =>
  writeLimit({
    ...limit,
    ...now,
    counts: allCurrencies ? 'AllCurrencies' : 'Currency',
    customerId: limit.scope === 'customer' ? holder : null,
    beneficiaryId: limit.scope === 'beneficiary' ? holder : null,
    amount: writeAmount(limit.amount, limit.currency),
    used: now && writeAmount(now.used, limit.currency),
    left: now && writeAmount(now.left, limit.currency),
  })

const writeFee = createRecordWriter(wire.PayoutFee)
const toFee = ({ rule, isInForce: inForce, validUntil }: FeeInForce) =>
  writeFee({
    ...rule,
    rail: rule.rail === 'any' ? null : rule.rail,
    fixed: writeAmount(rule.fixedAmount, rule.currency),
    min: writeAmount(rule.minAmount, rule.currency),
    max: rule.maxAmount === null ? null : writeAmount(rule.maxAmount, rule.currency),
    inForce,
    validUntil,
  })
