/** The table of invitations. A pending one is sent again or revoked; an expired one is sent again. */
import { html, type Html } from '../html.ts'
import { badge, hiddenField, table, time } from './components.ts'
import { type ConsoleView, type RoleName, roleText } from './view.ts'

type InvitationStatus = 'Pending' | 'Accepted' | 'Expired' | 'Revoked'

export type TeamInvitation = {
  readonly id: string
  readonly email: string
  readonly fullName?: string
  readonly roleName: RoleName
  readonly status: InvitationStatus
  readonly invitedAt: Date
  readonly invitedByName: string
}

export function invitationTable(view: ConsoleView, invitations: readonly TeamInvitation[], mayWrite: boolean): Html {
  const { t } = view
  return table({
    caption: t.invitations,
    columns: [
      [t.person, 'head'],
      t.role,
      t.status,
      t.invitedAt,
      t.invitedBy,
      ...(mayWrite ? [[t.actions, 'actions'] as const] : []),
    ],
    rows: invitations.map((invitation) => [
      who(invitation),
      roleText(view, invitation.roleName),
      statusBadge(view, invitation.status),
      time(view, invitation.invitedAt),
      html`<span class="free">${invitation.invitedByName}</span>`,
      ...(mayWrite ? [actions(view, invitation)] : []),
    ]),
  })
}

const who = ({ fullName, email }: TeamInvitation): Html =>
  fullName === undefined
    ? html`<span class="name">${email}</span>`
    : html`<span class="name">${fullName}</span> <span class="soft">${email}</span>`

function statusBadge({ t }: ConsoleView, status: InvitationStatus): Html {
  switch (status) {
    case 'Pending':
      return badge('neutral', t.statusPending)
    case 'Accepted':
      return badge('good', t.statusAccepted)
    case 'Expired':
      return badge('warning', t.statusExpired)
    case 'Revoked':
      return badge('bad', t.statusRevoked)
  }
}

function actions({ t, root }: ConsoleView, { id, email, status }: TeamInvitation): Html | string {
  const form = (path: string, label: string, look: string) =>
    html`<form method="post" action="${root}team/${path}">
      ${hiddenField('id', id)}
      <button type="submit" class="small ${look}">${label}<span class="away"> ${email}</span></button>
    </form>`
  if (status === 'Accepted' || status === 'Revoked') return ''
  return html`<div class="actions">
    ${form('resend', t.resend, '')} ${status === 'Pending' && form('revoke', t.revoke, 'danger')}
  </div>`
}
