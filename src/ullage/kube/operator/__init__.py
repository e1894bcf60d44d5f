"""The operator: what quotas use, which pods are over, whether policies hold, and what is wrong is refused."""
