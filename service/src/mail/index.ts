/**
 * Mail out: claim a queued mail under a lease, render it, hand it to a mail server or write it into a folder, record.
 * No table of its own: the queue is the module's. A mail is sent at least once; its Message-ID is made of the id of its
 * row, so that whoever receives it twice can tell. A server that is away or says "later" is tried again after 1, 2,
 * 4 ... minutes for 24 hours; a recipient that is refused for good is given up at once. A notice of a failing endpoint goes
 * to each Admin and Developer; whom it reached is in its row, so that a failure for one repeats nothing for the others.
 */
export { type NoticeWorkerDeps, startNoticeWorker } from './notices.ts'
export { folderTransport } from './folder.ts'
export { createMailer, type Mailer } from './mailer.ts'
export { smtpTransport } from './smtp.ts'
export { type Mailbox, type MailMessage, MailRefused, type MailTransport, readMailbox } from './transport.ts'
export { type MailWorkerDeps, startMailWorker } from './worker.ts'
export { mailSettings } from './settings.ts'
