import type { Thresholds } from '../../core/reviews/suspension.ts'
import type { Context } from '../context.ts'

/** The thresholds of the suspension rule, as configured. */
export function thresholdsOf({ config }: Pick<Context, 'config'>): Thresholds {
  return {
    windowMinutes: config.suspensionWindowMinutes,
    windows: config.suspensionWindows,
    accounts: config.suspensionAccounts,
    share: config.suspensionShare,
    networks: config.suspensionNetworks,
    earlyPolls: config.suspensionEarlyPolls,
    accountAgeDays: config.suspensionAccountAgeDays,
    warningHours: config.suspensionWarningHours,
    reinstateAfterHours: config.suspensionReinstateHours,
    reports: config.suspensionReports,
    secondOperatorGrants: config.suspensionSecondOperatorGrants,
  }
}
