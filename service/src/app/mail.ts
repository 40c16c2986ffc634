/** The mails of the service: the template of each kind, and how they are sent. */
import type { Config } from './config.ts'
import { renderEndpointAlert } from '../delivery/index.ts'
import { present } from '../kernel/index.ts'
import { folderTransport, readMailbox, smtpTransport } from '../mail/index.ts'
import { renderMonitorMail } from '../modules/accounts/index.ts'
import { renderReportMail } from '../modules/reports/index.ts'
import {
  renderImpersonation,
  renderInvitation,
  renderKeyChange,
  renderNewDevice,
  renderSignInChange,
  renderSignInLink,
} from '../modules/users/index.ts'

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
  impersonation: renderImpersonation,
  service_account_changed: renderKeyChange,
}

export function mailParts({ config, mailboxFolder }: { readonly config: Config; readonly mailboxFolder: string }) {
  return {
    transport: config.SMTP_URL === undefined ? folderTransport(mailboxFolder) : smtpTransport(config.SMTP_URL),
    from: present(readMailbox(config.MAIL_FROM), 'checked with the configuration'),
  }
}
