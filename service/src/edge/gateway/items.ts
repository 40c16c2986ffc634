/** Counts the items of bulk requests against a rate of the partner, beside the rate of its requests. */
import type { Operation } from '@partner-payments/wire'
import type { Caller } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import { createRateLimiter } from './rate.ts'

export type ItemRate = {
  readonly clock: Clock
  readonly itemRate: { readonly perSecond: number; readonly burst: number }
}

/** Takes items of the partner's rate. Refuses: rate_limited (429) with Retry-After. */
export type ItemLimiter = (caller: Pick<Caller, 'partnerId'>, count: number) => void

export function createItemLimiter({ clock, itemRate }: ItemRate): ItemLimiter {
  const limiter = createRateLimiter({ clock, ...itemRate, unit: 'items of requests' })
  return ({ partnerId }, count) => {
    if (count > 0) limiter.take(partnerId, count)
  }
}

/** The start tags of payments in a pain.001, with or without a prefix. The file is read later. */
const paymentTag = /<(?:[\w.-]+:)?CdtTrfTxInf[\s/>]/g

/** Counts the items of a valid body: the entries of a list, or the payments in the text of a pain.001. */
export function compileItemCount({ items: field }: Pick<Operation, 'items'>): (body: unknown) => number {
  if (field === undefined) return () => 0
  return (body) => {
    const items = (body as Readonly<Record<string, string | readonly unknown[]>> | undefined)?.[field]
    return typeof items === 'string' ? (items.match(paymentTag)?.length ?? 0) : (items?.length ?? 0)
  }
}
