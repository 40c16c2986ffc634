/** Rotates the signing secret of a subscription. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { notFound, Refusal } from '../../api/index.ts'
import { after, type Clock, newId, secondMs } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import * as endpointQueues from '../queue/store-endpoint-queues.ts'
import { type Secrets, shownOf } from './secrets.ts'
import * as store from './store-subscriptions.ts'

type Deps = { readonly db: Database; readonly clock: Clock; readonly secrets: Secrets }

export function createSecretRotation({ db, clock, secrets }: Deps) {
  return {
    /**
     * Issues a new secret. The previous secrets also sign until the overlap ends. Two concurrent rotations issue two
     * secrets, and both sign. Refuses: not_found, webhook_secret_limit_reached.
     */
    rotateSecret: (partnerId: string, id: string, input: Static<typeof wire.SecretRotate> = {}, outerTx?: Tx) =>
      inTransaction(db, outerTx, async (tx) => {
        const now = clock.now()
        // The worker that holds the endpoint queue reads the keys again.
        await endpointQueues.wakeEndpointQueue(tx, partnerId, id, now)
        const row = await store.lockSubscription(tx, partnerId, id)
        if (row === undefined) throw notFound('webhook subscription')
        const overlapUntil = after(now, (input.overlapSeconds ?? wire.overlapSecondsDefault) * secondMs)
        const signature = input.signature ?? row.signature
        const rotation = { kind: signature, endsAt: overlapUntil, now }
        const key = await secrets.rotate(tx, { partnerId, subscriptionId: id }, rotation)
        if (key === undefined)
          throw new Refusal(
            'webhook_secret_limit_reached',
            `A subscription has at most ${wire.activeSecretsMax} valid secrets. ` +
              'Wait until one expires, or rotate with overlapSeconds 0.',
          )
        await store.updateSubscription(tx, partnerId, { ...row, signature, updatedAt: now }, newId())
        return { id, signature, createdAt: now, overlapUntil, ...shownOf(key) }
      }),
  }
}
