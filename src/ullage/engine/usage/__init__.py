"""What is really used: summaries of observations, forecasts, and advice that follows from them."""
