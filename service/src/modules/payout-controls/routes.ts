/** Operation id -> verb -> shape, for what a partner reads of its limits and fees. */
import { type Handlers } from '../../api/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { FeeInForce } from './fee-rules.ts'
import type { LimitNow, PayoutControls } from './service.ts'

export const payoutControlsRoutes = (controls: PayoutControls) =>
  ({
    listPayoutLimits: async ({ caller, query }) => {
      const page = await controls.limitsNow(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toLimit) } }
    },
    listPayoutFees: async ({ caller, query }) => {
      const fees = await controls.feesNow(caller.partnerId, query)
      return { body: { data: fees.map(toFee), nextCursor: null, hasMore: false } }
    },
  }) satisfies Partial<Handlers<'payouts'>>

const toLimit = ({ id, scope, verificationState, period, currency, amount, holder, now }: LimitNow) => ({
  id,
  scope,
  ...(holder === null || scope === 'partner' ? {} : { [`${scope}Id`]: holder }),
  ...(verificationState === null ? {} : { verificationState }),
  period,
  currency,
  amount: writeAmount(amount, currency),
  ...(now === undefined
    ? {}
    : {
        used: writeAmount(now.used, currency),
        left: writeAmount(now.left, currency),
        startsOn: now.startsOn,
        resetsAt: now.resetsAt.toISOString(),
      }),
})

const toFee = ({ rule, isInForce, validUntil }: FeeInForce) => ({
  id: rule.id,
  currency: rule.currency,
  ...(rule.rail === 'any' ? {} : { rail: rule.rail }),
  fixed: writeAmount(rule.fixedAmount, rule.currency),
  basisPoints: rule.basisPoints,
  min: writeAmount(rule.minAmount, rule.currency),
  ...(rule.maxAmount === null ? {} : { max: writeAmount(rule.maxAmount, rule.currency) }),
  inForce: isInForce,
  validFrom: rule.validFrom.toISOString(),
  ...(validUntil === null ? {} : { validUntil: validUntil.toISOString() }),
})
