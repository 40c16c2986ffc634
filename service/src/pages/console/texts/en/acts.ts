/** English names of the actions in the audit log that are neither API operations nor operator commands. */
import type { ServiceAct } from '../../../../audit/index.ts'

export const actsEn = {
  serviceActs: {
    acceptInvitation: 'Accepted an invitation',
    cancelRecovery: 'Cancelled a recovery of a sign-in',
    changeRole: 'Changed the role of a person',
    changeSignIn: 'Changed how a person signs in',
    confirmSingleSignOn: 'Confirmed a change of single sign-on',
    'customer.erased': 'Erased a customer',
    'customer.identity_erasure_refused': 'An identity provider refused to erase a customer',
    endSupportSession: 'Ended a support session',
    'guestLink.created': 'Created a guest link',
    'guestLink.opened': 'A guest opened the link',
    'guestLink.revoked': 'Revoked a guest link',
    joinBySingleSignOn: 'Joined the team by single sign-on',
    'notifications.chosen': 'Chose what comes by mail',
    openRecovery: 'Mailed the link of a recovery',
    openSupportSession: 'Opened a support session',
    'operator case assign': 'Gave a case another owner',
    'operator case remark': 'Added a note to a case',
    proposeSingleSignOn: 'Proposed a change of single sign-on',
    recoverSignIn: 'Recovered a sign-in',
    rejectSingleSignOn: 'Rejected a change of single sign-on',
    resetSignIn: 'Reset the sign-in of a person',
    'savedView.deleted': 'Deleted a saved view',
    'savedView.renamed': 'Renamed a saved view',
    'savedView.saved': 'Saved a view',
    signIn: 'Signed in',
  } satisfies Readonly<Record<ServiceAct, string>>,
} as const
