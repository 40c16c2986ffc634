/** The mails of the service: the template of each kind, and how they are sent. */
import type { Config } from './config.ts'
import { renderEndpointAlert } from '../delivery/index.ts'
import { present } from '../kernel/index.ts'
import { siteNameOf } from './derived-settings.ts'
import { folderTransport, readMailbox, smtpTransport } from '../mail/index.ts'
import { renderMonitorMail } from '../modules/accounts/index.ts'
import { renderReportMail } from '../modules/reports/index.ts'
import {
  renderGuestLink,
  renderImpersonation,
  renderInvitation,
  renderKeyChange,
  renderNewDevice,
  renderRecoveryLink,
  renderRecoveryReport,
  renderRoleChange,
  renderSignInChange,
  renderSignInLink,
} from '../modules/users/index.ts'
import { renderStaffMail } from '../modules/staff/index.ts'

/** Renders a mail by its kind. */
export const mailTemplates = {
  invitation: renderInvitation,
  invitation_resent: renderInvitation,
  endpoint_alert: renderEndpointAlert,
  balance_crossed: renderMonitorMail,
  report_ready: renderReportMail,
  report_failed: renderReportMail,
  sign_in_link: renderSignInLink,
  sign_in_changed: renderSignInChange,
  new_device: renderNewDevice,
  staff_account: renderStaffMail,
  recovery_link: renderRecoveryLink,
  recovery_report: renderRecoveryReport,
  role_changed: renderRoleChange,
  impersonation: renderImpersonation,
  guest_link: renderGuestLink,
  service_account_changed: renderKeyChange,
}

export function mailParts({ config, mailboxFolder }: { readonly config: Config; readonly mailboxFolder: string }) {
  const sender = present(readMailbox(config.MAIL_FROM), 'checked with the configuration')
  return {
    transport: config.SMTP_URL === undefined ? folderTransport(mailboxFolder) : smtpTransport(config.SMTP_URL),
    // The name of MAIL_FROM counts first.
    from: { ...sender, name: sender.name === '' ? siteNameOf(config) : sender.name },
  }
}
