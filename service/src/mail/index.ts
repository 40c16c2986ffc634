/**
 * Mail: one queue of outgoing mails, and the worker that sends them by SMTP or writes them to a folder.
 *
 * Table: mail.messages, one row for each mail to one address. The row is written in the transaction of the change that
 * the mail reports; a template of the mail's kind renders it when it is sent. A mail is sent at least once: its
 * Message-ID contains the id of its row, so that a recipient can recognise a duplicate. The worker retries after 1, 2,
 * 4 ... minutes for 24 hours. It gives up at once if the server refuses the recipient permanently.
 */
export {
  folderTransport,
  type MailContent,
  oneLine,
  parseMailbox,
  smtpTransport,
  htmlPage,
  mailWithLink,
  plainMail,
  formatUtc,
} from './transport.ts'
export {
  createMailQueue,
  type MailQueue,
  type NewMail,
  sealedMailSecrets,
  type MailToRender,
  type MailWorkerDeps,
  mailJob,
} from './worker.ts'
