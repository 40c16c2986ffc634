/** Maps API operations to module operations and response shapes, for a partner's limits and fees. */
import { payouts as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import { toJsonAmount } from '../../kernel/index.ts'
import type { CurrentFee } from './rules.ts'
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
    amount: toJsonAmount(limit.amount, limit.currency),
    used: now && toJsonAmount(now.used, limit.currency),
    left: now && toJsonAmount(now.left, limit.currency),
  })

const writeFee = createRecordWriter(wire.PayoutFee)
const toFee = ({ rule, isInForce: inForce, validUntil }: CurrentFee) =>
  writeFee({
    ...rule,
    rail: rule.rail === 'any' ? null : rule.rail,
    fixed: toJsonAmount(rule.fixedAmount, rule.currency),
    min: toJsonAmount(rule.minAmount, rule.currency),
    max: rule.maxAmount === null ? null : toJsonAmount(rule.maxAmount, rule.currency),
    inForce,
    validUntil,
  })
