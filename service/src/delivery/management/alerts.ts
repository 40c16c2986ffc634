/** Alerts about failing endpoints: queued as mails in the transaction that finds the failure. */
import type { users as wire } from '@partner-payments/wire'
import type { Log } from '../../kernel/index.ts'
import type { MailQueue } from '../../mail/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { AlertKind, AlertMailData } from './alert-mail.ts'

export type EndpointAlert = {
  readonly partnerId: string
  readonly subscriptionId: string
  readonly kind: AlertKind
  readonly url: string
  readonly failingSince: Date | null
  readonly lastError: string | null
}

export type EndpointAlerts = {
  /** Mails the partner's Admins and Developers when the transaction commits. */
  readonly add: (tx: Tx, alert: EndpointAlert) => Promise<void>
}

export type EndpointAlertsDeps = {
  readonly mail: Pick<MailQueue, 'enqueue'>
  readonly log: Log
  /** The people of a partner who have one of the roles. */
  readonly membersWithRoles: (
    tx: Tx,
    partnerId: string,
    roles: readonly wire.Role[],
    membersMax: number,
  ) => Promise<readonly { readonly fullName: string; readonly email: string }[]>
}

const recipientRoles: readonly wire.Role[] = ['Admin', 'Developer']
const recipientsMax = 20

export function createEndpointAlerts({ mail, log, membersWithRoles }: EndpointAlertsDeps): EndpointAlerts {
  return {
    add: async (tx, { partnerId, subscriptionId, kind, url, failingSince, lastError }) => {
      const recipients = await membersWithRoles(tx, partnerId, recipientRoles, recipientsMax)
      if (recipients.length === 0) log.warn({ partnerId, subscriptionId, kind }, 'endpoint alert without a recipient')
      const data: AlertMailData = {
        alert: kind,
        subscriptionId,
        url,
        failingSince: failingSince?.toISOString() ?? null,
        lastError,
      }
      await mail.enqueue(
        tx,
        partnerId,
        recipients.map(({ fullName, email }) => ({
          kind: 'endpoint_alert',
          subjectId: subscriptionId,
          to: { name: fullName, address: email },
          data,
          secret: null,
          expiresAt: null,
        })),
      )
    },
  }
}
