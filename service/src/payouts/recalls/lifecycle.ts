/** The table of transitions of a recall. The documentation page of lifecycles shows it. */
import { recalls } from '@partner-payments/wire'
import { createLifecycle } from '../../lifecycle/index.ts'

export const recallLifecycle = createLifecycle({
  subject: 'recall',
  statuses: recalls.recallStatuses,
  transitions: {
    request: {
      from: [],
      to: 'Requested',
      cause: 'The partner requests the recall of a completed payout in time.',
      by: ['partner'],
      on: ['requested'],
      steps: ['RecallRequested'],
    },
    /** Implied by an answer that the bank gave before the worker recorded the bank's receipt of the request. */
    send: {
      from: ['Requested'],
      to: 'Sent',
      cause: 'The bank has the request. The time for its answer begins.',
      by: ['worker', 'bank'],
      on: ['taken'],
      impliedBy: ['accepted', 'refused'],
      steps: ['RecallSent'],
    },
    decline: {
      from: ['Requested'],
      to: 'Refused',
      cause: 'The connector refuses the request.',
      by: ['worker'],
      on: ['declined'],
      steps: ['RecallRefused'],
    },
    expire: {
      from: ['Sent'],
      to: 'Expired',
      cause: 'No answer came in time.',
      by: ['time'],
      on: ['overdue'],
      steps: ['RecallExpired'],
    },
    accept: {
      from: ['Sent', 'Expired', 'Refused'],
      to: 'Accepted',
      cause: 'The bank reports that the recipient agrees, also if the answer comes late or after a refusal.',
      by: ['bank'],
      on: ['accepted'],
      steps: ['RecallAccepted'],
    },
    refuse: {
      from: ['Sent', 'Expired'],
      to: 'Refused',
      cause: 'The bank reports that the recipient keeps the money, also if the answer comes late.',
      by: ['bank'],
      on: ['refused'],
      steps: ['RecallRefused'],
    },
    /** Returned money is the answer, even if the bank refused before. */
    return: {
      from: ['Requested', 'Sent', 'Expired', 'Refused'],
      to: 'Accepted',
      cause: 'The money comes back without an earlier positive answer.',
      by: ['bank'],
      on: ['returned'],
      steps: ['RecallAccepted'],
    },
    settle: {
      from: ['Accepted'],
      to: 'Accepted',
      cause: 'The money comes back that the recipient has agreed to return.',
      by: ['bank'],
      on: ['returned'],
      steps: [],
    },
  },
  reports: {
    repeat: {
      accepted: ['Accepted'],
      // The money, or the agreement, came before.
      refused: ['Refused', 'Accepted'],
    },
    early: {},
  },
})
