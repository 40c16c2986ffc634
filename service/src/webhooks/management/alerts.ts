/** Alerts about failing endpoints, queued in the transaction that finds the failure. */
import type { users as wire } from '@partner-payments/wire'
import type { FactQueue } from '../../inbox/index.ts'
import { newId, escapeHtml } from '../../kernel/index.ts'
import { htmlPage, type MailContent, type MailQueue, type MailToRender, oneLine, formatUtc } from '../../mail/index.ts'
import type { Tx } from '../../postgres/index.ts'

export type EndpointAlert = {
  readonly partnerId: string
  readonly subscriptionId: string
  readonly kind: AlertKind
  readonly url: string
  readonly failingSince: Date | null
  readonly lastError: string | null
}

export type EndpointAlerts = {
  /**
   * Alerts the team when the transaction commits: members by their inbox, and invited Admins and Developers who have not joined by mail,
   * because their partner may not use the console.
   */
  readonly add: (tx: Tx, alert: EndpointAlert) => Promise<void>
}

type EndpointAlertsDeps = {
  readonly mail: Pick<MailQueue, 'enqueue'>
  readonly facts: FactQueue
  /** Lists people of a partner who are invited with one of the roles and have not joined. */
  readonly invitedWithRoles: (
    tx: Tx,
    partnerId: string,
    roles: readonly wire.Role[],
    membersMax: number,
  ) => Promise<readonly { readonly fullName: string; readonly email: string }[]>
}

const recipientRoles: readonly wire.Role[] = ['Admin', 'Developer']
const recipientsMax = 20

export function createEndpointAlerts({ mail, facts, invitedWithRoles }: EndpointAlertsDeps): EndpointAlerts {
  return {
    add: async (tx, { partnerId, subscriptionId, kind, url, failingSince, lastError }) => {
      facts.append(tx, [
        {
          ...{ partnerId, subject: subscriptionId, occasion: newId() },
          type: kind === 'DisabledFailing' || kind === 'DisabledGone' ? 'endpoint.disabled' : 'endpoint.failing',
          facts: { name: new URL(url).host, since: failingSince?.toISOString() ?? null, reason: lastError },
        },
      ])
      const recipients = await invitedWithRoles(tx, partnerId, recipientRoles, recipientsMax)
      if (recipients.length === 0) return
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

// The alert email about an endpoint, as plain text and simple HTML.

/**
 * Reason of the alert: the endpoint has failed for this long, or was disabled because it failed for too long or
 * answered 410.
 */
export type AlertKind = 'Failing24h' | 'Failing72h' | 'DisabledFailing' | 'DisabledGone'

type AlertMailData = {
  readonly alert: AlertKind
  readonly subscriptionId: string
  readonly url: string
  /** Time of the first failure since the last success, in ISO 8601. Null: the alert has another reason. */
  readonly failingSince: string | null
  /** Error of the last attempt, as the partner sees it in the list of attempts. */
  readonly lastError: string | null
}

const shownCharsMax = 300
const shown = (text: string) => oneLine(text).slice(0, shownCharsMax)

/** Removes the query of a URL, which may contain a secret of the partner. */
function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return shown(`${origin}${pathname}${search === '' ? '' : '?...'}`)
}

const subjects: Readonly<Record<AlertKind, (host: string) => string>> = {
  Failing24h: (host) => `Webhooks to ${host} have failed for 24 hours`,
  Failing72h: (host) => `Webhooks to ${host} have failed for 72 hours`,
  DisabledFailing: (host) => `Webhooks to ${host} are disabled: they failed for 5 days`,
  DisabledGone: (host) => `Webhooks to ${host} are disabled: the endpoint answered 410 Gone`,
}

const nextOfFailing =
  'No event is lost: failed deliveries are kept and retried. After 5 days of failures the endpoint is disabled.'
const nextOfDisabled =
  'The endpoint receives no further deliveries. Pending deliveries are kept for 30 days and sent when you enable it again.'

export function renderEndpointAlert(mail: MailToRender): MailContent {
  const { alert, subscriptionId, url, failingSince, lastError } = mail.data as AlertMailData
  const disabled = alert === 'DisabledFailing' || alert === 'DisabledGone'
  const path = `/v1/webhooks/${subscriptionId}`
  const subject = subjects[alert](new URL(url).host)
  const facts = [
    `Endpoint: ${shownUrl(url)}`,
    `Subscription: ${subscriptionId}`,
    ...(failingSince === null ? [] : [`No delivery has succeeded since: ${formatUtc(new Date(failingSince))}`]),
    ...(disabled ? [`Disabled at: ${formatUtc(mail.createdAt)}`] : []),
    ...(lastError === null ? [] : [`Last error: ${shown(lastError)}`]),
  ]
  const paragraphs = [
    `Hello ${oneLine(mail.toName)},`,
    `${subject}. They are webhooks of ${oneLine(mail.partnerName)}.`,
    ...facts,
    disabled ? nextOfDisabled : nextOfFailing,
    `To list each attempt and its answer: GET ${path}/deliveries`,
    ...(disabled ? [`When the endpoint answers again: POST ${path}/enable`] : []),
    'You get this mail because you are invited as an Admin or a Developer of this partner.',
  ]
  return {
    subject,
    text: `${paragraphs.join('\n\n')}\n`,
    html: htmlPage(paragraphs.map(escapeHtml)),
    link: null,
  }
}
