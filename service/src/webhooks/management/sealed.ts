/** The sealed secrets of subscriptions. */
import type { SealedColumn } from '../../postgres/index.ts'
import { sealContext } from './signing-keys.ts'

export const sealedWebhookSecrets: SealedColumn = {
  table: 'delivery.secrets',
  column: 'secret_sealed',
  key: { subscription_id: 'uuid', id: 'uuid' },
  contextOf: (partnerId, cell) => sealContext({ partnerId, subscriptionId: cell('subscription_id') }),
}
