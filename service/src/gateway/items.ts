/** Counts the items of bulk requests against a rate of the partner, beside the rate of its requests. */
import type { BodyOf, OperationId } from '@partner-payments/wire'
import type { Caller } from '../api/index.ts'
import type { Clock } from '../kernel/index.ts'
import { createRateLimiter } from './rate.ts'

export type ItemRate = {
  readonly clock: Clock
  readonly itemRate: { readonly perSecond: number; readonly burst: number }
}

const counts: { readonly [K in OperationId]?: (body: BodyOf<K>) => number } = {
  createBulkPayout: ({ payouts }) => payouts.length,
  // The start tags, with or without a prefix; the file is read later.
  createBulkPayoutFromFile: ({ document }) => document.match(/<(?:[\w.-]+:)?CdtTrfTxInf[\s/>]/g)?.length ?? 0,
  createInvitations: ({ invitations }) => invitations.length,
}

/** Takes the items of a valid body. Refuses: rate_limited (429) with Retry-After. */
export function createItemCount({ clock, itemRate }: ItemRate) {
  const limiter = createRateLimiter({ clock, ...itemRate, unit: 'items of requests' })
  return (id: OperationId, { partnerId }: Pick<Caller, 'partnerId'>, body: unknown): void => {
    const count = counts[id] as ((body: unknown) => number) | undefined
    if (count !== undefined) limiter.take(partnerId, count(body))
  }
}
